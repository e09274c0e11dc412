# shellcheck shell=bash
# Which of a kernel's devices are a volume's: images of equal names, several volumes of one image,
# devices that lost their process, and a driver that does not see the host's processes.

NODE='node-a'

# Arguments: handle, image, mounter, type of file system or 'block', access mode. Sets the volume of
# the test to a static one.
use_image() {
    local kind="\"mount\": {\"fs_type\": \"$4\"}"
    [ "$4" != block ] || kind='"block": {}'
    NAME=$1
    HANDLE=$1
    CONTEXT="{\"staticVolume\": \"true\", \"clusterID\": \"$FSID\", \"pool\": \"zone-a\",
        \"imageName\": \"$2\", \"mounter\": \"$3\"}"
    CAPABILITY="{$kind, \"access_mode\": {\"mode\": \"${5:-SINGLE_NODE_WRITER}\"}}"
}

# Prints the name of the device that is staged.
staged_device() {
    local path
    path=$(staging "$NODE")/$HANDLE
    if [ -b "$path" ]; then
        lsblk -dno NAME "$path"
    else
        basename "$(findmnt -no SOURCE -M "$path")"
    fi
}

# Arguments: image. Its id, as Ceph has it.
id_of() {
    rbd info --format json "zone-a/$1" | jq -r .id
}

an_image_that_had_the_name_before_is_not_taken_for_the_volume() {
    local before device
    rbd create zone-a/named --size 64M
    before=$(krbd_map named ro)
    rbd rename zone-a/named zone-a/named-before
    rbd create zone-a/named --size 64M
    use_image named named rbd ext4
    stage "$NODE"
    device=$(staged_device)
    [ "/dev/$device" != "$before" ]
    [ "$(<"/sys/bus/rbd/devices/${device#rbd}/image_id")" = "$(id_of named)" ]
    [ "$(<"/sys/bus/rbd/devices/${device#rbd}/cluster_fsid")" = "$FSID" ]
    publish "$NODE" "$PODS/named"
    unpublish "$NODE" "$PODS/named"
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    [ "$(mapped_krbd)" = 1 ]
    krbd_unmap "$before"
    rbd rm --no-progress zone-a/named
    rbd rm --no-progress zone-a/named-before
}

# The kernel unmaps a device that is bound to a file and not open.
a_second_volume_of_one_image_does_not_touch_the_first() {
    local device
    rbd create zone-a/shared --size 64M
    use_image shared-1 shared rbd block
    stage "$NODE"
    device=$(staged_device)
    use_image shared-2 shared rbd block
    mkdir -p "$(staging "$NODE")"
    for _ in 1 2; do
        ! stage "$NODE" || fail 'the second was staged'
        unstage "$NODE"
    done
    cp "$STAGING/shared-1-$NODE/image-meta.json" "$(staging "$NODE")" # as of a driver that was killed
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    use_image shared-1 shared rbd block
    [ "$(staged_device)" = "$device" ]
    dd if="/dev/$device" of=/dev/null bs=4096 count=1
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    rbd rm --no-progress zone-a/shared
}

two_volumes_of_one_image_are_read_side_by_side() {
    local mounter=$1
    rbd create zone-a/readers --size 64M
    use_image readers-1 readers "$mounter" ext4
    stage "$NODE"
    unstage "$NODE"
    use_image readers-1 readers "$mounter" ext4 MULTI_NODE_READER_ONLY
    stage "$NODE"
    use_image readers-2 readers "$mounter" ext4 MULTI_NODE_READER_ONLY
    stage "$NODE"
    publish "$NODE" "$PODS/readers-2" true
    use_image readers-1 readers "$mounter" ext4 MULTI_NODE_READER_ONLY
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    ls "$PODS/readers-2/lost+found"
    use_image readers-2 readers "$mounter" ext4 MULTI_NODE_READER_ONLY
    unpublish "$NODE" "$PODS/readers-2"
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    [ "$(($(mapped_krbd) + $(mapped_nbd)))" = 0 ]
    wait_for rbd rm --no-progress zone-a/readers
}

# pidof says so by 1; by anything else it says something else.
no_rbd-nbd_runs() {
    local status=0
    pidof rbd-nbd || status=$?
    [ $status = 1 ]
}

# A block volume: to unmount a file system is to write, which waits for another process.
an_nbd_device_that_lost_its_process_is_unmapped_all_the_same() {
    local process
    rbd create zone-a/lost --size 64M
    use_image lost lost rbd-nbd block
    stage "$NODE"
    [ "$(</sys/block/"$(staged_device)"/backend)" = lost ]
    process=$(pidof rbd-nbd)
    kill -KILL "$process"
    wait_for no_rbd-nbd_runs
    [ "$(mapped_nbd)" = 1 ]
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    [ "$(mapped_nbd)" = 0 ]
    wait_for rbd rm --no-progress zone-a/lost
}

a_driver_without_the_pids_of_the_host_unmaps_what_it_mapped() {
    local device
    rbd create zone-a/apart --size 64M
    rbd create zone-a/of-another --size 64M
    device=$(rbd-nbd map zone-a/of-another --cookie of-another)
    use_image apart apart rbd-nbd ext4
    NODE='node-p'
    stage "$NODE"
    publish "$NODE" "$PODS/apart"
    unpublish "$NODE" "$PODS/apart"
    unstage "$NODE"
    rmdir "$(staging "$NODE")"
    [ "$(mapped_nbd)" = 1 ]
    rbd-nbd unmap "$device"
    wait_for rbd rm --no-progress zone-a/apart
    wait_for rbd rm --no-progress zone-a/of-another
}

modprobe -a rbd nbd
start_driver node-a
start_driver node-p 5 unshare --pid --fork --mount-proc
check an_image_that_had_the_name_before_is_not_taken_for_the_volume
check a_second_volume_of_one_image_does_not_touch_the_first
check two_volumes_of_one_image_are_read_side_by_side rbd
check two_volumes_of_one_image_are_read_side_by_side rbd-nbd
check an_nbd_device_that_lost_its_process_is_unmapped_all_the_same
check a_driver_without_the_pids_of_the_host_unmaps_what_it_mapped
check nothing_is_left_on_the_node
if [ "$FAILED" -gt 0 ]; then
    printf 'the last words of the drivers:\n'
    grep -h '^[EW]' /tmp/node-?.log | tail -n 30
fi
finish
