# What the benchmarks share. The caller sets folder (a directory of its own) and driver (empty); a second
# driver that it has started is other_driver.
# shellcheck shell=bash
: "${folder:?}" "${driver?}"

finish()
{
    local pid
    for pid in $driver ${other_driver-}; do
        kill "$pid"
        wait "$pid" || :
    done
    if [ -e "$folder/ceph" ]; then
        tests/ceph/cluster stop "$folder/ceph" 2>/dev/null
    fi
    rm -rf "$folder"
}
# Further arguments are for tests/ceph/cluster. Writes the driver's configuration and secrets.
start_ceph()
{
    tests/ceph/cluster start "$folder/ceph" "$@"
    # shellcheck disable=SC1091 # written by the cluster
    source "$folder/ceph/env"
    export CEPH_CONF
    printf '[{"clusterID": "%s", "monitors": ["%s"]}]\n' "$FSID" "$MONITORS" \
        >"$folder/config.json"
    printf '{"userID": "%s", "userKey": "%s"}\n' "$CSI_USER" "$(<"$CSI_KEY_FILE")" \
        >"$folder/secrets.json"
}

# run_driver TYPE SOCKET: in the background, as $!
run_driver()
{
    "$CEPHCSI" --type="$1" --nodeid=bench --controllerserver --endpoint="unix://$2" \
        --configpath="$folder/config.json" 2>"$folder/driver-$1.log" &
    for _ in {1..100}; do
        [ -S "$2" ] && break
        sleep 0.1
    done
}

# start_driver TYPE
start_driver()
{
    run_driver "$1" "$folder/csi.sock"
    driver=$!
}

ours()
{
    "$BUILD/tests/bench/csi-bench" --endpoint="unix://$folder/csi.sock" --pid="$driver" \
        --secrets="$folder/secrets.json" --parameters="$folder/parameters.json" "$@"
}

# The median of a column ("p50" or "rate") over the rounds: median COLUMN FILE...
median()
{
    local column=$1
    shift
    awk -v column="$column" '{for (i = 1; i < NF; i++) if ($i == column) print $(i + 1)}' "$@" |
        sort -n | awk '{value[NR] = $1} END {print value[int((NR + 1) / 2)]}'
}

# ratio COLUMN LINE-OF-A LINE-OF-B FILES-OF-A FILES-OF-B, files as a pattern
ratio()
{
    local column=$1
    # shellcheck disable=SC2086 # patterns
    grep -h "^$2 .*rate" $4 >"$folder/a"
    # shellcheck disable=SC2086 # patterns
    grep -h "^$3 .*rate" $5 >"$folder/b"
    awk "BEGIN {printf \"%.2f\", $(median "$column" "$folder/a") / $(median "$column" "$folder/b")}"
}
