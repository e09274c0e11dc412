# shellcheck shell=bash
# Types of cephx keys and the kernel's clients: what the driver asks the kernel agrees with what a mapping
# shows and, where the cluster's own key is of type 2, such a key is used, or refused with the reason.

readonly MIB=$((1 << 20))
# well-formed, of type 2, and of no user
readonly KEY_TYPE_2='AgDm8i1pAAAAACAAMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

the_kernel_refuses_type_2() {
    key-types | grep -qx '2 refused'
}

has_key_of_type_2() {
    [[ $(</etc/ceph/csi.key) == Ag* ]]
}

# Prints what the kernel says to a mapping with a key of type 2.
map_with_type_2() {
    {
        printf '%s name=%s,secret=%s,mount_timeout=5 zone-a none -' "$MONITORS_V1" "$CSI_USER" \
            "$KEY_TYPE_2" >/sys/bus/rbd/add_single_major
    } 2>&1
}

the_question_agrees_with_a_mapping() {
    local said
    modprobe rbd
    uname -r
    key-types
    key-types | grep -qx '1 taken'
    ! said=$(map_with_type_2) || fail 'it was mapped'
    printf '%s\n' "$said"
    dmesg | grep libceph | tail -n 3
    # stable kernels say of a key that long that it is invalid, before they look at its type
    if the_kernel_refuses_type_2; then
        [[ $said == *524* || $said == *'Invalid argument'* ]]
    else
        [[ $said != *524* && $said != *'Invalid argument'* ]]
    fi
}

# --- with a key of type 2 ---

# Arguments: name, mounter, parameters of the class. Makes the volume of the test.
create() {
    local answer
    NAME=$1
    CAPABILITY='{"mount": {}, "access_mode": {"mode": "SINGLE_NODE_WRITER"}}'
    answer=$(call "$NODE" CreateVolume "{\"name\": \"$NAME\", \"volume_capabilities\": [$CAPABILITY],
        \"capacity_range\": {\"required_bytes\": $((512 * MIB))},
        \"parameters\": {\"clusterID\": \"$FSID\", \"mounter\": \"$2\", $3}}")
    note_volume "$answer"
}

delete() {
    call "$NODE" DeleteVolume "{\"volume_id\": \"$HANDLE\"}"
}

it_is_used() {
    create "$@"
    stage "$NODE"
    publish "$NODE" "$PODS/$NAME"
    seq 100000 >"$PODS/$NAME/numbers"
    unpublish "$NODE" "$PODS/$NAME"
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    delete
}

it_is_refused_before_anything_is_mapped() {
    local said
    create "$@"
    ! said=$(stage "$NODE") || fail 'it was staged'
    printf '%s\n' "$said"
    [[ $said == *FAILED_PRECONDITION*"kernel $(uname -r) does not know keys of type 2 (aes256k)"* ]]
    [ "$(mapped_krbd)" = 0 ]
    ! grep "/$NAME" /proc/self/mounts || fail 'it is mounted'
    rmdir "$(staging "$NODE")"
    delete
}

start_cephfs_driver() {
    mkdir -p /csi/cephfs
    cephcsi --type=cephfs --nodeid=cephfs --drivername=cephfs.csi.ceph.com --controllerserver --nodeserver \
        --endpoint=unix:///csi/cephfs/csi.sock --configpath=/etc/ceph/config.json --rundir=/run/cephfs --v=5 \
        >/tmp/cephfs.log 2>&1 &
    wait_for test -S /csi/cephfs/csi.sock || { tail /tmp/cephfs.log && return 1; }
    start_client cephfs /csi/cephfs/csi.sock
}

readonly RBD_CLASS='"pool": "zone-a"' CEPHFS_CLASS='"fsName": "cephfs"'
modprobe -a rbd ceph fuse
echo "figure: kernel $(uname -r): keys of $(key-types | sed 's/^/type /' | tr '\n' ' ')"
check the_question_agrees_with_a_mapping
if has_key_of_type_2; then
    start_driver node-a
    start_cephfs_driver
    kernel=it_is_used
    ! the_kernel_refuses_type_2 || kernel=it_is_refused_before_anything_is_mapped
    NODE=node-a
    check $kernel by-krbd rbd "$RBD_CLASS"
    check it_is_used by-nbd rbd-nbd "$RBD_CLASS"
    NODE=cephfs
    check $kernel by-kernel kernel "$CEPHFS_CLASS"
    check it_is_used by-fuse fuse "$CEPHFS_CLASS"
fi
finish
