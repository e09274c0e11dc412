# shellcheck shell=bash
# Limits on the I/O of pods that use krbd volumes: io.max of their cgroups, set when the volume is
# published and changed while the pod runs. Prints what fio reaches.

readonly NODE=node-a
readonly POD=0a1b2c3d-1111-4222-8333-444455556666
readonly CGROUP=/sys/fs/cgroup/kubepods/pod$POD
readonly TARGET=$PODS/$POD/volumes/kubernetes.io~csi/limited/mount
CAPABILITY='{"mount": {"fs_type": "ext4"}, "access_mode": {"mode": "SINGLE_NODE_WRITER"}}'
NAME=limited

make_cgroup_of_pod() {
    mount -t cgroup2 cgroup /sys/fs/cgroup
    echo +io >/sys/fs/cgroup/cgroup.subtree_control
    mkdir /sys/fs/cgroup/kubepods
    echo +io >/sys/fs/cgroup/kubepods/cgroup.subtree_control
    mkdir "$CGROUP"
    test -e "$CGROUP/io.max"
}

# Arguments: parameters of the VolumeAttributesClass, as JSON.
modify() {
    call $NODE ControllerModifyVolume "{\"volume_id\": \"$HANDLE\", \"mutable_parameters\": {$1}}"
}

create() {
    local answer
    answer=$(call $NODE CreateVolume "{\"name\": \"$NAME\", \"volume_capabilities\": [$CAPABILITY],
        \"capacity_range\": {\"required_bytes\": $((64 << 20))}, \"mutable_parameters\": {$1},
        \"parameters\": {\"clusterID\": \"$FSID\", \"pool\": \"zone-a\", \"mounter\": \"rbd\"}}")
    note_volume "$answer"
}

# A pod that reads for some seconds, in the place of the shell: read_as_pod SECONDS REPORT
read_as_pod() {
    echo $BASHPID >"$CGROUP/cgroup.procs"
    exec fio --name=reads --filename="$TARGET/file" --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=16 \
        --size=16m --runtime="$1" --time_based --output-format=json --output="$2"
}

# What fio reports of its job: report_of_reads REPORT FILTER. Behind what it says about a signal.
report_of_reads() {
    sed -n '/^{/,$p' "$1" | jq ".jobs[0] | $2"
}

# What a pod reaches in some seconds, in reads per second without a fraction.
measure_reads() {
    (read_as_pod "$1" /tmp/measured) >/dev/null
    report_of_reads /tmp/measured '.read.iops | floor'
}

device_number() {
    printf '%s' "$(mountpoint -d "$TARGET")"
}

io_max_has() {
    grep -qxF "$(device_number) $1" "$CGROUP/io.max"
}

io_max_is_empty() {
    [ -z "$(<"$CGROUP/io.max")" ]
}

limits_are_set_when_the_volume_is_published() {
    io_max_has 'rbps=max wbps=max riops=20 wiops=max'
}

# Argument: limit. The kernel lets some more pass at the beginning.
pod_reads_no_faster_than() {
    local reached
    reached=$(measure_reads 10)
    echo "figure: krbd, limit $1 reads/s: fio reaches $reached" >/tmp/figure
    [ "$reached" -le $(($1 * 3 / 2)) ]
}

# fio and the job that it forks.
pod_reads() {
    [ "$(wc -l <"$CGROUP/cgroup.procs")" = 2 ]
}

# A pod reads all the time, while its class is exchanged.
changed_class_acts_on_a_pod_that_runs() {
    local reads status=0
    (read_as_pod 600 /tmp/reads) &
    reads=$!
    wait_for pod_reads
    modify '"maxReadIops": "5", "maxWriteBps": "1048576"'
    wait_for io_max_has 'rbps=max wbps=1048576 riops=5 wiops=max'
    kill $reads
    wait $reads || status=$?
    [ $status = 128 ] # fio's own, for an end by a signal: it was at work until then
    [ "$(report_of_reads /tmp/reads .error)" = 0 ]
}

lifted_class_acts_as_well() {
    modify ''
    wait_for io_max_is_empty
    echo "figure: krbd, no limit: fio reaches $(measure_reads 10) reads/s" >/tmp/figure
}

volume_goes() {
    unpublish $NODE "$TARGET"
    unstage $NODE
    rmdir "$(staging $NODE)"
    call $NODE DeleteVolume "{\"volume_id\": \"$HANDLE\"}"
    rm -r "${PODS:?}/$POD"
    nothing_is_left_on_the_node
}

mkdir -p /csi "${TARGET%/*}"
modprobe rbd
check make_cgroup_of_pod
start_driver $NODE
create '"maxReadIops": "20"'
stage $NODE >/dev/null
publish $NODE "$TARGET" >/dev/null
check limits_are_set_when_the_volume_is_published
dd if=/dev/zero of="$TARGET/file" bs=1M count=16 2>/dev/null
sync
check pod_reads_no_faster_than 20
cat /tmp/figure
check changed_class_acts_on_a_pod_that_runs
check pod_reads_no_faster_than 5
cat /tmp/figure
check lifted_class_acts_as_well
cat /tmp/figure
check volume_goes
[ "$FAILED" -eq 0 ] || tail -n 30 /tmp/$NODE.log
finish
