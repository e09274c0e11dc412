#!/bin/bash
# First process on the VM's root disk: network, then waits for scripts. The kernel's command line
# gives the address as vm.address=A/PREFIX.
export PATH=/usr/sbin:/usr/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
ln -s /proc/self/fd /dev/fd # for bash
mkdir /run/ceph # rbd-nbd aborts without
mount --make-rshared /
modprobe -a virtio_net virtio_rng
read -ra words </proc/cmdline
for word in "${words[@]}"; do
    [[ $word != vm.address=* ]] || address=${word#*=}
done
ip link set lo up
ip address add "${address:?}" dev eth0
ip link set eth0 up
hostname vm
httpd -p 80 -h /srv
echo 'vm: ready'
# the first process takes over the orphans
while :; do
    sleep 3600 &
    wait $!
done
