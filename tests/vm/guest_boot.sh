#!/bin/sh
# First program of the VM, from the initrd: finds the root disk and goes on there.
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
modprobe -a virtio_pci virtio_blk
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ ! -b /dev/vda ] || break
    sleep 0.1
done
mount -t ext4 /dev/vda /mnt || poweroff -f
mount -o move /dev /mnt/dev
umount /proc /sys
exec switch_root /mnt /init
