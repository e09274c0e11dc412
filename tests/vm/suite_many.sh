# shellcheck shell=bash
# Many volumes on one node: the memory of the driver, and NodeStageVolume beside the bare kernel. They
# stay in their pools, which no other suite uses: to delete them proves nothing here.

readonly MEASURED=30                       # volumes to measure with, one call at a time
readonly OTHERS=$((VM_VOLUMES - MEASURED)) # are there before them, staged two at a time
readonly STEP=$(((OTHERS + 2) / 3))        # of these between two looks at the memory

declare -A PROCESSES=() # by the prefix of their volumes

# Makes volumes, stages and publishes them, and stops until it shall let them go:
# use PREFIX COUNT OPTION... In the background.
use() {
    "${BENCH[@]}" --prefix="$1" --count="$2" --phases=create,stage,publish,unpublish,unstage \
        --stop-before=unpublish "${@:3}" >"/tmp/$1.txt" 2>&1 &
    PROCESSES[$1]=$!
}

# Waits, for at most a quarter of an hour, until a process is in a state: T has stopped, Z has ended.
await() {
    local deadline=$((SECONDS + 900)) state=
    while [ "$state" != Z ] && ((SECONDS < deadline)); do
        { read -r _ _ state _ <"/proc/$1/stat"; } 2>/dev/null || state=Z
        [ "$state" != "$2" ] || return 0
        sleep 0.2
    done
    fail "process $1 is in state $state, not in $2"
}

no_call_failed() {
    cat "$1"
    grep -q ' failed 0$' "$1"
    ! grep ' failed [1-9]' "$1"
}

# The images are made by the driver, so that they have the same features, in a pool of their own.
the_bare_kernel_is_measured() {
    "${BENCH[@]}" --count=$MEASURED --prefix=bare --phases=create --parameters=/tmp/bare.json
    # shellcheck disable=SC2046 # one word for each image
    bare-map --monitors="$MONITORS_V1" --pool=zone-c $(rbd ls zone-c) >/tmp/bare.txt
}

# Arguments: how many there are now, prefix of the last ones.
volumes_are_staged_and_published() {
    await "${PROCESSES[$2]}" T || { cat "/tmp/$2.txt" && return 1; }
    no_call_failed "/tmp/$2.txt"
    [ "$(mapped_krbd)" = "$1" ]
    [ "$(grep -c " $PODS/" /proc/self/mounts)" = "$1" ]
}

all_volumes_are_let_go() {
    local prefix
    kill -CONT "${PROCESSES[@]}"
    for prefix in "${!PROCESSES[@]}"; do
        await "${PROCESSES[$prefix]}" Z
        no_call_failed "/tmp/$prefix.txt"
    done
    nothing_is_left_on_the_node
}

volumes_with_data_are_staged_again() {
    "${BENCH[@]}" --count=$MEASURED --prefix=last --phases=create,stage,unstage >/tmp/again.txt
    nothing_is_left_on_the_node
}

# The p50 of a line: p50 TITLE FILE
p50() {
    sed -nE "s/^$1 +callers.* p50 +([0-9.]+) ms.*/\1/p" "$2"
}

# The driver's memory at a point: resident WHEN FILE
resident() {
    sed -nE "s/^$1 +resident +([0-9.]+) MB/\1/p" "$2" | tail -n 1
}

print_figures() {
    local n line
    line="figure: resident with 0 volumes $(resident before /tmp/many.txt) MB"
    for n in $STEP $((2 * STEP)) $OTHERS; do
        line+=", with $n staged $(resident "stage $n" /tmp/many.txt) MB"
    done
    line+=", with $VM_VOLUMES published $(resident "publish $MEASURED" /tmp/last.txt) MB"
    printf '%s, after all were let go and %d staged again %s MB\n' "$line" $MEASURED \
        "$(resident after /tmp/again.txt)"
    printf 'figure: NodeStageVolume p50 %s ms, map, mkfs and mount alone %s ms\n' \
        "$(p50 stage /tmp/last.txt)" "$(p50 'bare map\+mkfs\+mount' /tmp/bare.txt)"
    printf 'figure: NodeStageVolume of a volume with data p50 %s ms, map and mount alone %s ms\n' \
        "$(p50 stage /tmp/again.txt)" "$(p50 'bare map\+mount' /tmp/bare.txt)"
}

printf '{"clusterID": "%s", "pool": "zone-b"}\n' "$FSID" >/tmp/parameters.json
printf '{"clusterID": "%s", "pool": "zone-c"}\n' "$FSID" >/tmp/bare.json
modprobe rbd
start_driver node-a 1
readonly BENCH=(csi-bench --endpoint=unix:///csi/node-a.sock --secrets=/etc/ceph/secrets.json
    --parameters=/tmp/parameters.json --size=$((64 << 20)) --fs-type=ext4
    --staging="$STAGING" --targets="$PODS" --pid="$DRIVER")
use many $OTHERS --step=$STEP --callers=2
check volumes_are_staged_and_published $OTHERS many
check the_bare_kernel_is_measured
use last $MEASURED
check volumes_are_staged_and_published "$VM_VOLUMES" last
check all_volumes_are_let_go
check volumes_with_data_are_staged_again
if [ "$FAILED" -gt 0 ]; then
    tail -n 30 /tmp/node-a.log
fi
print_figures
finish
