# shellcheck shell=bash
# What the suites in the VM share. tests/vm/run puts it in front of each, and in front of it the
# addresses and keys of the cluster.

export CEPH_ARGS="--id $CSI_USER --keyfile /etc/ceph/csi.key --conf /etc/ceph/ceph.conf"
FAILED=0

# Runs a function, whose name says what must be true, and prints its output if it fails. It runs in
# a shell of its own that ends at the first command that fails.
check() {
    local log=/tmp/check-$BASHPID.log began=$EPOCHREALTIME status
    (
        set -euo pipefail
        "$@"
    ) >"$log" 2>&1
    status=$?
    if [ $status -eq 0 ]; then
        printf '[       OK ] %s (%.1f s)\n' "${*//_/ }" "$(awk "BEGIN {print $EPOCHREALTIME - $began}")"
    else
        tail -n 40 "$log"
        printf '[  FAILED  ] %s\n' "${*//_/ }"
        FAILED=$((FAILED + 1))
    fi
}

finish() {
    exit $((FAILED > 0))
}

fail() {
    printf '%s\n' "$*" >&2
    return 1
}

# Repeats a command for at most 120 s until it succeeds.
wait_for() {
    local deadline=$((SECONDS + 120))
    until "$@"; do
        ((SECONDS < deadline)) || fail "in vain for 120 s: $*" || return
        sleep 0.1
    done
}

# --- the kernel's client, by hand ---

# Maps zone-a/$1 with the options $2 and prints its device.
krbd_map() {
    local id
    printf '%s name=%s,secret=%s,%s zone-a %s -' "$MONITORS_V1" "$CSI_USER" \
        "$(</etc/ceph/csi.key)" "${2:-rw}" "$1" >/sys/bus/rbd/add_single_major
    for id in /sys/bus/rbd/devices/*; do
        [ "$(<"$id/name")" != "$1" ] || { printf '/dev/rbd%s\n' "${id##*/}" && return; }
    done
    fail "$1 is not in /sys/bus/rbd/devices"
}

krbd_unmap() {
    printf '%s' "${1#/dev/rbd}" >/sys/bus/rbd/remove_single_major
}

mapped_krbd() {
    find /sys/bus/rbd/devices -mindepth 1 | wc -l
}

mapped_nbd() {
    find /sys/block/ -name 'nbd*' -exec test -e '{}/pid' ';' -print | wc -l
}

# --- our driver ---

readonly STAGING=/var/lib/kubelet/plugins/kubernetes.io/csi
readonly PODS=/var/lib/kubelet/pods
mkdir -p "$STAGING" "$PODS"

declare -A CALLS=() ANSWERS=() # descriptors of each driver's client

# Starts the driver as node $1 with verbosity $2, by the command that follows if there is one, and a
# client for it. The driver's process is left in DRIVER.
start_driver() {
    local socket=/csi/$1.sock
    "${@:3}" cephcsi --type=rbd --nodeid="$1" --drivername=rbd.csi.ceph.com --controllerserver --nodeserver \
        --endpoint="unix://$socket" --configpath=/etc/ceph/config.json --stagingpath="$STAGING/" \
        --v="${2:-5}" >"/tmp/$1.log" 2>&1 &
    # shellcheck disable=SC2034 # for the suites
    DRIVER=$!
    wait_for test -S "$socket" || { tail "/tmp/$1.log" && return 1; }
    start_client "$1" "$socket"
}

# One client for all calls, because here a program of this size takes a second to start.
start_client() {
    local fd
    mkfifo "/tmp/$1.calls" "/tmp/$1.answers"
    exec {fd}<>"/tmp/$1.calls"
    CALLS[$1]=$fd
    exec {fd}<>"/tmp/$1.answers"
    ANSWERS[$1]=$fd
    cephzone call --batch --endpoint="unix://$2" --secrets=/etc/ceph/secrets.json --timeout=120s \
        <"/tmp/$1.calls" >"/tmp/$1.answers" &
}

# One CSI call to a node's driver: call NODE METHOD REQUEST. Prints the answer, or why it failed. What
# kubelet would try again, this does, 60 times at most.
call() {
    local answer try
    for ((try = 0; try < 60; try++)); do
        printf '%s %s\n' "$2" "${3//$'\n'/ }" >&"${CALLS[$1]}"
        IFS= read -r -t 150 answer <&"${ANSWERS[$1]}" || fail "$2 is not answered"
        [[ $answer == "$2: "@(ABORTED|UNAVAILABLE|DEADLINE_EXCEEDED)": "* ]] || break
        sleep 1
    done
    printf '%s\n' "$answer"
    [[ $answer == "{"* ]]
}

# True if a call fails with this status; prints what the driver said.
call_fails_with() {
    local said
    ! said=$(call "${@:2}") || fail "$3 did not fail"
    printf '%s\n' "$said"
    [[ $said == "$3: $1: "* ]]
}

# --- the volume of the running test ---

NAME=    # of the running test's volume, and part of all its paths
HANDLE=
CONTEXT= # its volume_context
CAPABILITY=

# Argument: what CreateVolume answered.
note_volume() {
    HANDLE=$(jq -r .volume.volume_id <<<"$1")
    CONTEXT=$(jq -c .volume.volume_context <<<"$1")
}

staging() {
    printf '%s/%s-%s' "$STAGING" "$NAME" "$1"
}

# As kubelet does: the folder is there before the call and removed after the last.
stage() {
    mkdir -p "$(staging "$1")"
    call "$1" NodeStageVolume "{\"volume_id\": \"$HANDLE\", \"volume_context\": $CONTEXT,
        \"staging_target_path\": \"$(staging "$1")\", \"volume_capability\": $CAPABILITY}"
}

unstage() {
    call "$1" NodeUnstageVolume "{\"volume_id\": \"$HANDLE\",
        \"staging_target_path\": \"$(staging "$1")\"}"
}

# Arguments: node, target, readonly.
publish() {
    call "$1" NodePublishVolume "{\"volume_id\": \"$HANDLE\", \"volume_context\": $CONTEXT,
        \"staging_target_path\": \"$(staging "$1")\", \"target_path\": \"$2\",
        \"volume_capability\": $CAPABILITY, \"readonly\": ${3:-false}}"
}

unpublish() {
    call "$1" NodeUnpublishVolume "{\"volume_id\": \"$HANDLE\", \"target_path\": \"$2\"}"
}

nothing_is_left_on_the_node() {
    [ "$(mapped_krbd)" = 0 ] || fail "still mapped by krbd: $(cat /sys/bus/rbd/devices/*/name)"
    [ "$(mapped_nbd)" = 0 ] || fail "still mapped by nbd: $(rbd-nbd list-mapped)"
    ! grep -E " ($STAGING|$PODS)" /proc/self/mounts || fail 'still mounted'
    [ -z "$(find "$STAGING" "$PODS" -mindepth 1)" ] || fail "left: $(find "$STAGING" "$PODS")"
}

no_image_is_left() {
    [ -z "$(rbd ls zone-a)" ]
}
