# shellcheck shell=bash
# What pods notice when the node plugin dies: nothing. fio writes and verifies on a published volume of
# each kind while the containers of both plugins are killed, and one rbd-nbd beside them.
#
# A container is a cgroup here: that is how a runtime finds what it ends. A web server with a few files is
# the API server: from there a new plugin has the Secret of a volume whose process is gone.

readonly MIB=$((1 << 20))
readonly CGROUPS=/sys/fs/cgroup
readonly API=/tmp/api VOLUMES=/tmp/volumes

# --- containers and drivers ---

# Argument: type. In a container of its own, which is named after the type.
start_plugin() {
    local type=$1 socket=/csi/$1/csi.sock container=$CGROUPS/container-$1
    mkdir -p "$container" "/csi/$type"
    rm -f "$socket"
    (
        echo "$BASHPID" >"$container/cgroup.procs"
        exec cephcsi --type="$type" --nodeid=vm --drivername="$type.csi.ceph.com" --controllerserver --nodeserver \
            --endpoint="unix://$socket" --configpath=/etc/ceph/config.json --rundir="/run/$type" \
            --stagingpath="$STAGING/" --kubeconfig=/tmp/kubeconfig --v=5
    ) >>"/tmp/$type.log" 2>&1 &
    disown
}

plugin_serves() {
    wait_for test -S "/csi/$1/csi.sock" || { tail "/tmp/$1.log" && return 1; }
}

# As a runtime does when the first process of a container has died.
kill_container() {
    echo 1 >"$CGROUPS/container-$1/cgroup.kill"
    wait_for grep -qx 'populated 0' "$CGROUPS/container-$1/cgroup.events"
}

# --- the API server ---

start_api() {
    local key user
    mkdir -p $API/api/v1/{persistentvolumes,namespaces/ceph/secrets}
    user=$(printf '%s' "$CSI_USER" | base64 -w0)
    key=$(printf '%s' "$(</etc/ceph/csi.key)" | base64 -w0)
    printf '{"metadata": {"name": "csi"}, "data": {"userID": "%s", "userKey": "%s"}}' "$user" "$key" \
        >$API/api/v1/namespaces/ceph/secrets/csi
    cat >/tmp/kubeconfig <<'END'
{"apiVersion": "v1", "kind": "Config", "current-context": "vm",
 "clusters": [{"name": "vm", "cluster": {"server": "http://127.0.0.1:8001"}}],
 "contexts": [{"name": "vm", "context": {"cluster": "vm", "user": "vm"}}],
 "users": [{"name": "vm", "user": {"token": "none"}}]}
END
    httpd -p 127.0.0.1:8001 -h $API
}

write_volume_object() {
    printf '{"metadata": {"name": "%s"}, "spec": {"csi": {"driver": "%s.csi.ceph.com", "volumeHandle": "%s",
        "nodeStageSecretRef": {"name": "csi", "namespace": "ceph"}}}}' "$NAME" "$TYPE" "$HANDLE" \
        >"$API/api/v1/persistentvolumes/$NAME"
}

# --- the volumes ---

# Arguments: name of the volume, type, mounter. What a check learns of a volume is in a file, because
# each check is a shell of its own.
name_volume() {
    NAME=$1 TYPE=$2 MOUNTER=$3
    CAPABILITY='{"mount": {}, "access_mode": {"mode": "SINGLE_NODE_WRITER"}}'
    TARGET=$(pod_folder)/mount
}

note_daemon() {
    declare -p HANDLE CONTEXT DAEMON | sed 's/^declare --/declare -g/' >"$VOLUMES/$NAME"
}

# Where kubelet has the volumes of a pod; the name of the PersistentVolume is part of it.
pod_folder() {
    printf '%s/uid-%s/volumes/kubernetes.io~csi/%s' "$PODS" "$NAME" "$NAME"
}

create() {
    local answer place='"fsName": "cephfs"'
    [ "$TYPE" != rbd ] || place='"pool": "zone-a"'
    answer=$(call "$TYPE" CreateVolume "{\"name\": \"$NAME\", \"volume_capabilities\": [$CAPABILITY],
        \"capacity_range\": {\"required_bytes\": $((256 * MIB))},
        \"parameters\": {\"clusterID\": \"$FSID\", $place, \"mounter\": \"$MOUNTER\"}}")
    printf '%s\n' "$answer"
    note_volume "$answer"
}

# Prints the process of a program that has the argument. Without programs, whose start takes long here.
find_daemon() {
    local folder args
    for folder in /proc/[0-9]*; do
        { mapfile -d '' -t args <"$folder/cmdline"; } 2>/dev/null || continue
        [[ ${args[0]-} != *"$1" || ${args[*]} != *"$2"* ]] || { echo "${folder#/proc/}" && return; }
    done
}

# The process that serves the volume; the kernel needs none.
volume_daemon() {
    local image
    case $MOUNTER in
    rbd-nbd)
        image=${CONTEXT#*\"imageName\":\"}
        find_daemon rbd-nbd "/${image%%\"*}"
        ;;
    fuse) find_daemon ceph-fuse "$HANDLE" ;;
    esac
}

# --- fio, in the place of all pods ---

# All blocks of a file are written in random order, then read and verified, and this twice; with pauses,
# so that it takes longer than to kill the plugins.
start_fio() {
    local name jobs=()
    for name in "${NAMES[@]}"; do
        NAME=$name
        jobs+=(--name="$name" --directory="$(pod_folder)/mount")
    done
    fio --output-format=json --output=/tmp/fio.json --size=1M --bs=16k --rw=randwrite --direct=1 --ioengine=psync \
        --verify=crc32c --verify_fatal=1 --loops=2 --thinktime=20000 "${jobs[@]}" >/tmp/fio.log 2>&1 &
    FIO=$!
}

fio_has_all_files() {
    FILES=("$PODS"/*/volumes/*/*/mount/*.0)
    [ ${#FILES[@]} -eq ${#NAMES[@]} ]
}

fio_writes_to_all() {
    local file
    for file in "${FILES[@]}"; do
        [ "$file" -nt /tmp/fio.files ] || return
    done
}

# --- tests ---

# Argument: type. Those of one plugin after each other, those of the other beside them.
volumes_are_published() {
    local volume
    plugin_serves "$1"
    for volume in "${TESTS[@]}"; do
        # shellcheck disable=SC2086 # words
        name_volume $volume
        [ "$TYPE" = "$1" ] || continue
        create
        write_volume_object
        mkdir -p "$(pod_folder)"
        stage "$TYPE"
        publish "$TYPE" "$TARGET"
        DAEMON=$(volume_daemon)
        [ -n "$DAEMON" ] || [[ $MOUNTER != @(rbd-nbd|fuse) ]] || fail 'no process serves it'
        note_daemon
    done
}

the_plugins_are_killed_while_pods_write() {
    wait_for fio_has_all_files
    touch /tmp/fio.files
    wait_for fio_writes_to_all
    # shellcheck disable=SC1090 # written above
    source "$VOLUMES/$VICTIM"
    kill -KILL "$DAEMON"
    kill_container rbd
    kill_container cephfs
    kill -0 $FIO
}

# Arguments: as those of name_volume.
the_pod_saw_no_error() {
    local now
    name_volume "$@"
    # shellcheck disable=SC1090 # written above
    source "$VOLUMES/$NAME"
    grep "$NAME" /tmp/fio.log || :
    jq -ec --arg name "$NAME" '.jobs[] | select(.jobname == $name) | {error, write: .write.io_bytes,
        read: .read.io_bytes} | ., (.error == 0 and .write == 2097152 and .read == 2097152)' /tmp/fio.json
    now=$(volume_daemon)
    if [ "$NAME" = $VICTIM ]; then
        [[ -n $now && $now != "$DAEMON" ]] || fail 'it has no new process'
    else
        [ "$now" = "$DAEMON" ] || fail 'its process did not survive'
    fi
}

the_volume_can_be_used_and_goes() {
    name_volume "$@"
    # shellcheck disable=SC1090 # written above
    source "$VOLUMES/$NAME"
    seq 100000 >"$TARGET/numbers"
    sync -f "$TARGET"
    # this file only: Linux 6.1.192 was seen to die of a NULL folio in ext4, whose pages may be dropped too
    xfs_io -r -c 'fadvise -d 0 0' "$TARGET/numbers"
    seq 100000 | cmp - "$TARGET/numbers"
    unpublish "$TYPE" "$TARGET"
    unstage "$TYPE"
    rmdir "$(staging "$TYPE")"
    [ -z "$(volume_daemon)" ] || fail 'its process is left'
    call "$TYPE" DeleteVolume "{\"volume_id\": \"$HANDLE\"}"
    (cd "$PODS" && rmdir -p "uid-$NAME/volumes/kubernetes.io~csi/$NAME")
}

# name, type, mounter
readonly TESTS=('pv-krbd rbd rbd' 'pv-nbd rbd rbd-nbd' 'pv-nbd-killed rbd rbd-nbd' 'pv-kernel cephfs kernel' 'pv-fuse cephfs fuse')
readonly NAMES=("${TESTS[@]%% *}") VICTIM=pv-nbd-killed

shopt -s nullglob
mkdir $VOLUMES
mount -t cgroup2 cgroup $CGROUPS
modprobe -a rbd nbd ceph fuse
start_api
for type in rbd cephfs; do
    start_plugin $type
    start_client $type /csi/$type/csi.sock
done
(check volumes_are_published cephfs && finish) &
process=$!
check volumes_are_published rbd
wait $process || FAILED=$((FAILED + 1))
start_fio
check the_plugins_are_killed_while_pods_write
start_plugin rbd
start_plugin cephfs
wait $FIO
for volume in "${TESTS[@]}"; do
    # shellcheck disable=SC2086 # words
    check the_pod_saw_no_error $volume
    # shellcheck disable=SC2086
    check the_volume_can_be_used_and_goes $volume
done
check nothing_is_left_on_the_node
if [ "$FAILED" -gt 0 ]; then
    printf 'the last words of the drivers:\n'
    grep -h '^[EW]\|container ends\|has a new' /tmp/rbd.log /tmp/cephfs.log | grep -v lease | tail -n 30
fi
finish
