# shellcheck shell=bash
# Many volumes on one node: the memory of the driver, and NodeStageVolume beside the bare kernel.

readonly BARE=30 # volumes to measure the kernel with

bench() {
    csi-bench --endpoint=unix:///csi/node-a.sock --secrets=/etc/ceph/secrets.json \
        --parameters=/tmp/parameters.json --size=$((64 << 20)) --fs-type=ext4 \
        --staging="$STAGING" --targets="$PODS" --pid="$DRIVER" "$@"
}

# The images are made by the driver, so that they have the same features.
the_bare_kernel_is_measured() {
    bench --count=$BARE --prefix=bare --phases=create
    # shellcheck disable=SC2046 # one word for each image
    bare-map --monitors="$MONITORS_V1" --pool=zone-a $(rbd ls zone-a) >/tmp/bare.txt
    bench --count=$BARE --prefix=bare --phases=create,delete
}

all_volumes_are_staged_and_published() {
    bench --count="$VM_VOLUMES" --prefix=many --step=100 --phases=create,stage,publish \
        >/tmp/many.txt
    [ "$(mapped_krbd)" = "$VM_VOLUMES" ]
    [ "$(grep -c " $PODS/" /proc/self/mounts)" = "$VM_VOLUMES" ]
}

# The volumes are known again by their names.
all_volumes_are_let_go() {
    bench --count="$VM_VOLUMES" --prefix=many --phases=create,unpublish,unstage >>/tmp/many.txt
    nothing_is_left_on_the_node
}

volumes_with_data_are_staged_again() {
    bench --count=$BARE --prefix=many --phases=create,stage,unstage >/tmp/again.txt
    nothing_is_left_on_the_node
}

# The p50 of all lines with a title: p50 TITLE FILE
p50() {
    sed -nE "s/^$1 +callers.* p50 +([0-9.]+) ms.*/\1/p" "$2" | sort -n |
        awk '{value[NR] = $1} END {print value[int((NR + 1) / 2)]}'
}

resident() {
    sed -nE "s/^$1 +resident +([0-9.]+) MB/\1/p" "$2" | "${3:-head}" -n 1
}

print_figures() {
    local n line
    line="figure: resident with 0 volumes $(resident before /tmp/many.txt) MB"
    for ((n = 100; n <= VM_VOLUMES; n += 100)); do
        line+=", with $n staged $(resident "stage $n" /tmp/many.txt)"
        line+=", published $(resident "publish $n" /tmp/many.txt) MB"
    done
    printf '%s\n' "$line, after all were let go $(resident after /tmp/many.txt tail) MB"
    printf 'figure: p50 of NodeStageVolume %s ms, of map, mkfs and mount alone %s ms\n' \
        "$(p50 stage /tmp/many.txt)" "$(p50 'bare map\+mkfs\+mount' /tmp/bare.txt)"
    printf 'figure: with data: p50 of NodeStageVolume %s ms, of map and mount alone %s ms\n' \
        "$(p50 stage /tmp/again.txt)" "$(p50 'bare map\+mount' /tmp/bare.txt)"
}

printf '{"clusterID": "%s", "pool": "zone-a"}\n' "$FSID" >/tmp/parameters.json
modprobe rbd
start_driver node-a 1
check the_bare_kernel_is_measured
check all_volumes_are_staged_and_published
check all_volumes_are_let_go
check volumes_with_data_are_staged_again
if [ "$FAILED" -gt 0 ]; then
    tail -n 30 /tmp/node-a.log
fi
print_figures
finish
