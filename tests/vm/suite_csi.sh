# shellcheck shell=bash
# Our driver in the VM: volumes from their creation to their end, on nodes that share a kernel. Tests
# that mostly wait, for Ceph to give up a dead client, run beside the others, on a node of their own.

readonly MIB=$((1 << 20))
NODE='node-a' # where tests are that need only one, and the controller of all

# Arguments: type of file system or 'block', access mode.
set_capability() {
    local access=${2:-SINGLE_NODE_WRITER} kind="\"mount\": {\"fs_type\": \"$1\"}"
    [ "$1" != block ] || kind='"block": {}'
    CAPABILITY="{$kind, \"access_mode\": {\"mode\": \"$access\"}}"
}

# Arguments: name, type, mounter. Makes the volume of the test.
create() {
    local answer
    NAME=$1
    set_capability "$2"
    answer=$(call "$NODE" CreateVolume "{\"name\": \"$NAME\", \"volume_capabilities\": [$CAPABILITY],
        \"capacity_range\": {\"required_bytes\": $((512 * MIB))},
        \"parameters\": {\"clusterID\": \"$FSID\", \"pool\": \"zone-a\", \"mounter\": \"$3\"}}")
    note_volume "$answer"
}

# Ends the use of the volume on a node.
leave() {
    unpublish "$1" "$2"
    unstage "$1"
    rmdir "$(staging "$1")"
    the_volume_has_left_the_node
}

image() {
    jq -r .imageName <<<"$CONTEXT"
}

# Only this volume, so that one test that fails is not followed by others.
the_volume_has_left_the_node() {
    ! grep -qsx "$(image)" /sys/bus/rbd/devices/*/name || fail 'still mapped'
    ! find_nbd || fail 'rbd-nbd still runs'
    ! grep "/$NAME" /proc/self/mounts || fail 'still mounted'
    [ -z "$(find "$STAGING" "$PODS" -name "$NAME*")" ] || fail "left: $(find "$STAGING" "$PODS")"
}

# Prints the process that serves the volume. Without programs, whose start takes long here.
find_nbd() {
    local folder args image
    image=$(image)
    for folder in /proc/[0-9]*; do
        { mapfile -d '' -t args <"$folder/cmdline"; } 2>/dev/null || continue
        [[ ${args[*]} != rbd-nbd*"/$image "* ]] || { echo "${folder#/proc/}" && return; }
    done
    return 1
}

delete() {
    call "$NODE" DeleteVolume "{\"volume_id\": \"$HANDLE\"}"
}

# --- what a pod does; a block volume's target is the device ---

pod_writes() {
    if [ "$1" = block ]; then
        seq 100000 | dd of="$2" bs=64k conv=notrunc,fsync 2>/dev/null
    else
        seq 100000 >"$2/numbers"
    fi
}

pod_reads() {
    if [ "$1" = block ]; then
        seq 100000 | cmp - <(head -c 588895 "$2")
    else
        seq 100000 | cmp - "$2/numbers"
    fi
}

# Total bytes of a target as the pod sees them.
pod_sees_bytes() {
    if [ "$1" = block ]; then
        blockdev --getsize64 "$2"
    else
        echo $(($(stat -f -c '%b * %S' "$2")))
    fi
}

pod_sees_at_least() {
    [ "$(pod_sees_bytes "$1" "$2")" -ge "$3" ]
}

# --- parts of the way ---

# Arguments: type, target.
the_stats_are_true() {
    local answer total
    answer=$(call "$NODE" NodeGetVolumeStats "{\"volume_id\": \"$HANDLE\", \"volume_path\": \"$2\",
        \"staging_target_path\": \"$(staging "$NODE")\"}")
    printf '%s\n' "$answer"
    total=$(jq '.usage[] | select(.unit == "BYTES").total | tonumber' <<<"$answer")
    [ "$total" = "$(pod_sees_bytes "$1" "$2")" ]
    jq -e '.volume_condition.abnormal != true' <<<"$answer"
    [ "$1" = block ] || jq -e '.usage[] | select(.unit == "INODES").total' <<<"$answer"
}

# Arguments: type, target. A file system has a part of the device for itself.
the_volume_grows() {
    local bytes=$((768 * MIB))
    call "$NODE" ControllerExpandVolume "{\"volume_id\": \"$HANDLE\",
        \"capacity_range\": {\"required_bytes\": $bytes}, \"volume_capability\": $CAPABILITY}"
    call "$NODE" NodeExpandVolume "{\"volume_id\": \"$HANDLE\", \"volume_path\": \"$2\",
        \"staging_target_path\": \"$(staging "$NODE")\", \"volume_capability\": $CAPABILITY,
        \"capacity_range\": {\"required_bytes\": $bytes}}"
    [ "$1" = block ] || bytes=$((640 * MIB))
    wait_for pod_sees_at_least "$1" "$2" "$bytes"
}

# --- tests ---

a_volume_goes_its_whole_way() {
    local type=$1 mounter=$2 target
    create "way-$type-$mounter" "$type" "$mounter"
    target=$PODS/$NAME
    stage "$NODE"
    stage "$NODE"
    publish "$NODE" "$target"
    publish "$NODE" "$target"
    [ "$type" = block ] || [ "$(findmnt -no FSTYPE -M "$target")" = "$type" ]
    if [ "$mounter" = rbd ]; then
        grep -qx "$(image)" /sys/bus/rbd/devices/*/name
    else
        find_nbd
    fi
    pod_writes "$type" "$target"
    the_stats_are_true "$type" "$target"
    the_volume_grows "$type" "$target"
    unpublish "$NODE" "$target"
    leave "$NODE" "$target"
    stage node-b
    publish node-b "$target"
    pod_reads "$type" "$target"
    leave node-b "$target"
    unstage node-b
    delete
}

# The pod's mount alone, and then the whole volume on another node. A device is not protected by the
# flags of the mount that its name is in, only by being mapped for reading.
a_volume_that_is_read-only_cannot_be_written() {
    local type=$1 mounter=$2 target
    create "readonly-$type-$mounter" "$type" "$mounter"
    target=$PODS/$NAME
    stage "$NODE"
    publish "$NODE" "$target"
    pod_writes "$type" "$target"
    publish "$NODE" "$target-2" true
    [ "$type" = block ] || ! pod_writes "$type" "$target-2" || fail 'a read-only publication was written'
    unpublish "$NODE" "$target-2"
    leave "$NODE" "$target"
    set_capability "$type" MULTI_NODE_READER_ONLY
    stage node-b
    publish node-b "$target" true
    pod_reads "$type" "$target"
    ! pod_writes "$type" "$target" || fail 'a read-only volume was written'
    leave node-b "$target"
    delete
}

# rbd-nbd would take writes beyond the end of the image and lose them, so nobody but Ceph is believed.
an_nbd_device_grows_no_further_than_its_image() {
    local target bytes=$((768 * MIB))
    create beyond block rbd-nbd
    target=$PODS/$NAME
    stage "$NODE"
    publish "$NODE" "$target"
    call_fails_with OUT_OF_RANGE "$NODE" NodeExpandVolume "{\"volume_id\": \"$HANDLE\",
        \"volume_path\": \"$target\", \"capacity_range\": {\"required_bytes\": $bytes}}"
    [ "$(pod_sees_bytes block "$target")" = $((512 * MIB)) ]
    the_volume_grows block "$target"
    [ "$(pod_sees_bytes block "$target")" = $bytes ]
    leave "$NODE" "$target"
    delete
}

# As when the container of the driver is started again; the pod keeps its mount.
a_volume_whose_rbd-nbd_has_died_goes_on_with_another() {
    local target first
    create revived ext4 rbd-nbd
    target=$PODS/$NAME
    stage "$NODE"
    publish "$NODE" "$target"
    pod_writes ext4 "$target"
    first=$(find_nbd)
    kill -KILL "$first"
    wait_for process_is_gone "$first"
    stage "$NODE"
    [ "$(find_nbd)" != "$first" ]
    sync -f "$target"
    # this file only: Linux 6.1.192 was seen to die of a NULL folio in ext4, whose pages may be dropped too
    xfs_io -r -c 'fadvise -d 0 0' "$target/numbers"
    pod_reads ext4 "$target"
    the_stats_are_true ext4 "$target"
    the_volume_grows ext4 "$target"
    leave "$NODE" "$target"
    delete
}

process_is_gone() {
    [ ! -e "/proc/$1" ]
}

# rbd-nbd plays a client that the driver knows nothing of. It writes nothing: an image that holds
# data would not be formatted afterwards.
a_volume_in_use_elsewhere_is_refused_and_the_client_is_named() {
    local device said
    create elsewhere ext4 rbd
    device=$(rbd-nbd map "zone-a/$(image)")
    ! said=$(stage "$NODE") || fail 'it was staged'
    rbd-nbd unmap "$device"
    printf '%s\n' "$said"
    [[ $said == *10.77.0.2* ]]
    wait_for stage "$NODE"
    call_fails_with FAILED_PRECONDITION "$NODE" DeleteVolume "{\"volume_id\": \"$HANDLE\"}"
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    delete
}

# What a volume holds is never formatted, whatever the class says.
data_of_another_kind_are_not_formatted() {
    local device
    create foreign ext4 rbd
    device=$(krbd_map "$(image)")
    mkfs.xfs -q "$device"
    krbd_unmap "$device"
    ! stage "$NODE" || fail 'an xfs volume was staged as ext4'
    ! unstage "$NODE" || rmdir "$(staging "$NODE")"
    device=$(krbd_map "$(image)")
    [ "$(blkid -p -s TYPE -o value "$device")" = xfs ]
    krbd_unmap "$device"
    the_volume_has_left_the_node
    delete
}

nothing_is_left_after_all() {
    nothing_is_left_on_the_node
    wait_for no_image_is_left
}

the_driver_starts_on_every_node() {
    local node
    for node in node-a node-b node-c; do
        [ "$(call $node NodeGetInfo {} | jq -r .node_id)" = $node ]
    done
}

those_that_wait() {
    NODE='node-c'
    check a_volume_in_use_elsewhere_is_refused_and_the_client_is_named
    check a_volume_whose_rbd-nbd_has_died_goes_on_with_another
    check an_nbd_device_grows_no_further_than_its_image
    finish
}

modprobe -a rbd nbd xfs
start_driver node-a
start_driver node-b
start_driver node-c
check the_driver_starts_on_every_node
those_that_wait &
waiting=$!
for mounter in rbd rbd-nbd; do
    for type in ext4 xfs block; do
        check a_volume_goes_its_whole_way "$type" "$mounter"
    done
done
check a_volume_that_is_read-only_cannot_be_written ext4 rbd
check a_volume_that_is_read-only_cannot_be_written xfs rbd-nbd
check a_volume_that_is_read-only_cannot_be_written block rbd
check data_of_another_kind_are_not_formatted
wait $waiting || FAILED=$((FAILED + 1))
check nothing_is_left_after_all
if [ "$FAILED" -gt 0 ]; then
    printf 'the last words of the drivers:\n'
    grep -h '^[EW]' /tmp/node-?.log | tail -n 30
fi
finish
