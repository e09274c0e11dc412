# shellcheck shell=bash
# The VM itself, without our driver: the kernel has the clients of Ceph, reaches the cluster with
# them, and the programs that a node needs are there.

the_kernel_has_the_modules() {
    modprobe -a rbd nbd ceph xfs loop
    grep -q '^0x' /sys/bus/rbd/supported_features
    test -b /dev/nbd0
    grep -qw ceph /proc/filesystems
}

# Arguments: a formatted device and the type of its file system.
data_survive_on() {
    local mount=/mnt/$2
    mkdir -p "$mount"
    mount -t "$2" "$1" "$mount"
    seq 100000 >"$mount/numbers"
    umount "$mount"
    mount -t "$2" -o ro "$1" "$mount"
    seq 100000 | cmp - "$mount/numbers"
    umount "$mount"
}

an_image_is_mapped_through_sysfs_formatted_and_written() {
    local type=$1 device
    rbd create "zone-a/by-hand-$type" --size 512M
    device=$(krbd_map "by-hand-$type")
    "mkfs.$type" -q "$device"
    data_survive_on "$device" "$type"
    krbd_unmap "$device"
    [ "$(mapped_krbd)" = 0 ]
    rbd rm --no-progress "zone-a/by-hand-$type"
}

an_image_that_is_mapped_read-only_refuses_writes() {
    local device
    rbd create zone-a/by-hand-ro --size 64M
    device=$(krbd_map by-hand-ro ro)
    ! dd if=/dev/zero of="$device" bs=4096 count=1 2>/dev/null || fail 'it was written'
    krbd_unmap "$device"
    rbd rm --no-progress zone-a/by-hand-ro
}

rbd-nbd_maps_an_image_and_lets_it_go() {
    local device
    rbd create zone-a/by-nbd --size 256M
    device=$(rbd-nbd map zone-a/by-nbd)
    mkfs.ext4 -q "$device"
    data_survive_on "$device" ext4
    [ "$(mapped_nbd)" = 1 ]
    rbd-nbd unmap "$device"
    [ "$(mapped_nbd)" = 0 ]
    # it lets go of the image a moment later
    wait_for rbd rm --no-progress zone-a/by-nbd
}

the_kernel_mounts_cephfs() {
    mkdir -p /mnt/cephfs
    mount -t ceph "$MONITORS_V1:/" /mnt/cephfs -o "name=$CSI_USER,secretfile=/etc/ceph/csi.key"
    date >/mnt/cephfs/by-hand
    grep -q : /mnt/cephfs/by-hand
    rm /mnt/cephfs/by-hand
    umount /mnt/cephfs
}

check the_kernel_has_the_modules
check an_image_is_mapped_through_sysfs_formatted_and_written ext4
check an_image_is_mapped_through_sysfs_formatted_and_written xfs
check an_image_that_is_mapped_read-only_refuses_writes
check rbd-nbd_maps_an_image_and_lets_it_go
check the_kernel_mounts_cephfs
finish
