# shellcheck shell=bash
# CephFS volumes with the kernel's client, from their creation to their end, on two nodes that share
# a kernel.

readonly MIB=$((1 << 20))

# Each node has a folder of its own, as on machines of their own: what is staged is written there.
start_cephfs_driver() {
    local socket=/csi/$1/csi.sock
    mkdir -p "/csi/$1"
    cephcsi --type=cephfs --nodeid="$1" --drivername=cephfs.csi.ceph.com --controllerserver --nodeserver \
        --endpoint="unix://$socket" --configpath=/etc/ceph/config.json --rundir="/run/$1" --v=5 \
        >"/tmp/$1.log" 2>&1 &
    wait_for test -S "$socket" || { tail "/tmp/$1.log" && return 1; }
    start_client "$1" "$socket"
}

set_mode() {
    CAPABILITY="{\"mount\": {\"mount_flags\": [\"noatime\"]}, \"access_mode\": {\"mode\": \"$1\"}}"
}

# Arguments: name, more of the request. Makes the volume of the test.
create() {
    local answer
    NAME=$1
    answer=$(call node-a CreateVolume "{\"name\": \"$NAME\", \"volume_capabilities\": [$CAPABILITY],
        \"capacity_range\": {\"required_bytes\": $((512 * MIB))}, ${2-}
        \"parameters\": {\"clusterID\": \"$FSID\", \"fsName\": \"cephfs\", \"mounter\": \"kernel\"}}")
    printf '%s\n' "$answer"
    note_volume "$answer"
}

# Ends the use of the volume on a node.
leave() {
    unpublish "$1" "$2"
    unstage "$1"
    rmdir "$(staging "$1")"
    ! grep "/$NAME" /proc/self/mounts || fail 'still mounted'
    [ -z "$(find "$STAGING" "$PODS" -name "$NAME*")" ] || fail "left: $(find "$STAGING" "$PODS")"
    [ -z "$(find "/csi/$1/mountinfo" -name "*$HANDLE*")" ] || fail 'still written down as staged'
}

delete() {
    call node-a DeleteVolume "{\"volume_id\": \"$HANDLE\"}"
}

pod_sees_bytes() {
    [ "$(($(stat -f -c '%b * %S' "$1")))" = "$2" ]
}

the_stats_say() {
    local answer
    answer=$(call "$NODE" NodeGetVolumeStats "{\"volume_id\": \"$HANDLE\", \"volume_path\": \"$1\"}")
    printf '%s\n' "$answer"
    jq -e --argjson total "$2" '(.usage[0].total | tonumber) == $total' <<<"$answer"
    jq -e '.volume_condition.abnormal != true' <<<"$answer"
}

a_volume_goes_its_whole_way() {
    local target
    set_mode MULTI_NODE_MULTI_WRITER
    create way
    target=$PODS/$NAME
    stage "$NODE"
    stage "$NODE"
    publish "$NODE" "$target"
    publish "$NODE" "$target"
    [ "$(findmnt -no FSTYPE -M "$target")" = ceph ]
    findmnt -no OPTIONS -M "$target" | grep -w noatime
    ! grep -F -f /etc/ceph/csi.key /proc/self/mountinfo "/tmp/$NODE.log" || fail 'the key is told'
    seq 100000 >"$target/numbers"
    pod_sees_bytes "$target" $((512 * MIB))
    the_stats_say "$target" $((512 * MIB))
    call "$NODE" ControllerExpandVolume "{\"volume_id\": \"$HANDLE\",
        \"capacity_range\": {\"required_bytes\": $((768 * MIB))}, \"volume_capability\": $CAPABILITY}"
    wait_for pod_sees_bytes "$target" $((768 * MIB))
    leave "$NODE" "$target"
    stage node-b
    publish node-b "$target"
    seq 100000 | cmp - "$target/numbers"
    leave node-b "$target"
    delete
}

a_volume_that_is_read-only_cannot_be_written() {
    local target
    set_mode MULTI_NODE_MULTI_WRITER
    create readonly
    target=$PODS/$NAME
    stage "$NODE"
    publish "$NODE" "$target"
    seq 100000 >"$target/numbers"
    publish "$NODE" "$target-2" true
    ! touch "$target-2/other" || fail 'a read-only publication was written'
    unpublish "$NODE" "$target-2"
    leave "$NODE" "$target"
    set_mode MULTI_NODE_READER_ONLY
    stage node-b
    publish node-b "$target"
    seq 100000 | cmp - "$target/numbers"
    ! touch "$target/other" || fail 'a read-only volume was written'
    leave node-b "$target"
    delete
}

# Two of the same snapshot on one node are mounts of the same directory, and are told apart.
volumes_show_their_snapshot() {
    local source target snapshot first
    set_mode MULTI_NODE_MULTI_WRITER
    create source
    source=$HANDLE target=$PODS/$NAME
    stage "$NODE"
    publish "$NODE" "$target"
    seq 100000 >"$target/numbers"
    sync -f "$target"
    snapshot=$(call "$NODE" CreateSnapshot "{\"name\": \"snap\", \"source_volume_id\": \"$HANDLE\",
        \"parameters\": {\"clusterID\": \"$FSID\"}}" | jq -r .snapshot.snapshot_id)
    echo changed >"$target/numbers"
    leave "$NODE" "$target"
    set_mode MULTI_NODE_READER_ONLY
    create shown-a "\"volume_content_source\": {\"snapshot\": {\"snapshot_id\": \"$snapshot\"}},"
    stage "$NODE"
    publish "$NODE" "$PODS/shown-a"
    first=$HANDLE
    create shown-b "\"volume_content_source\": {\"snapshot\": {\"snapshot_id\": \"$snapshot\"}},"
    stage "$NODE"
    publish "$NODE" "$PODS/shown-b"
    seq 100000 | cmp - "$PODS/shown-a/numbers"
    seq 100000 | cmp - "$PODS/shown-b/numbers"
    ! touch "$PODS/shown-a/other" || fail 'a snapshot was written'
    leave "$NODE" "$PODS/shown-b"
    delete
    NAME=shown-a HANDLE=$first
    seq 100000 | cmp - "$PODS/shown-a/numbers"
    leave "$NODE" "$PODS/shown-a"
    delete
    call "$NODE" DeleteSnapshot "{\"snapshot_id\": \"$snapshot\"}"
    HANDLE=$source
    delete
}

readonly NODE=node-a
start_cephfs_driver node-a
start_cephfs_driver node-b
check a_volume_goes_its_whole_way
check a_volume_that_is_read-only_cannot_be_written
check volumes_show_their_snapshot
check nothing_is_left_on_the_node
finish
