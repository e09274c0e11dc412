# shellcheck shell=bash
# What a throwaway cluster is made of: configuration, users, pools, and the files that the tests
# read. Sourced by tests/ceph/cluster, which sets DIR, the cluster's directory.

ADDRESS=127.0.0.1 # where the daemons listen
readonly OSDS=(osd.0 osd.1 osd.2)
readonly ZONES=(zone-a zone-b zone-c) # in this order they hold one host with one of the OSDs
readonly RBD_POOLS=(common "${ZONES[@]}")
readonly CEPHFS_POOLS=(cephfs.meta cephfs.data "${ZONES[@]/#/cephfs.}")
readonly PG_NUM=8

# The manager takes 0.1 to 0.5 s to load a module. By default it loads these too, which no test
# uses. Those not named here must be loaded, or the cluster's health is HEALTH_ERR.
readonly UNUSED_MODULES=alerts,dashboard,diskprediction_local,influx,insights,iostat,k8sevents,\
localpool,mirroring,nfs,osd_perf_query,osd_support,prometheus,restful,rook,selftest,snap_schedule,\
stats,telegraf,test_orchestrator,zabbix

# Arguments: the cluster's fsid and the addresses of its monitor.
write_conf() {
    cat >"$DIR/ceph.conf" <<END
[global]
fsid = $1
mon_host = $2
public_addr = $ADDRESS
cluster_addr = $ADDRESS
# A port that was taken meanwhile is noticed at once, not after three times 5 s.
ms_bind_retry_delay = 0

keyring = $DIR/keyring
mon_data = $DIR/\$name
mgr_data = $DIR/\$name
osd_data = $DIR/\$name
mds_data = $DIR/\$name
run_dir = $DIR/run
crash_dir = $DIR/crash
log_file = $DIR/log/\$name.log
mon_cluster_log_file = $DIR/log/cluster.log
# The path of a socket has at most 107 bytes, and DIR may be longer.
admin_socket =

osd_objectstore = memstore
# Nominal: thin volumes of 10 GiB must fit, memory is used for what is written.
memstore_device_bytes = $((64 << 30))
# The fast shutdown does not write the memory store to osd_data: start-osd would find no data.
osd_fast_shutdown = false
osd_crush_update_on_start = false
osd_max_pg_log_entries = 500
osd_memory_target = $((1 << 30))
mds_cache_memory_limit = $((128 << 20))
mgr_disabled_modules = $UNUSED_MODULES
mgr_initial_modules =

# What is right for a real cluster and would stop or delay a test.
auth_allow_insecure_global_id_reclaim = false
mgr_stats_period = 1
mgr_tick_period = 1
mon_allow_pool_delete = true
mon_allow_pool_size_one = true
mon_data_avail_crit = 1
mon_data_avail_warn = 2
mon_max_pg_per_osd = 10000
mon_mgr_digest_period = 1
mon_tick_interval = 1
mon_warn_on_pool_no_redundancy = false
osd_pool_default_pg_autoscale_mode = off
osd_pool_default_pg_num = $PG_NUM
osd_pool_default_size = 1
paxos_min_wait = 0.01
paxos_propose_interval = 0.02

debug_mds = 0/0
debug_memstore = 0/0
debug_mgr = 0/0
debug_mon = 0/0
debug_ms = 0/0
debug_osd = 0/0
debug_rocksdb = 0/0
mon_cluster_log_file_level = info

[mgr]
# A test that kills the manager at a request (tests/cut) reads what it sends.
ms_mon_service_mode = crc

[mds]
# 'ceph tell' is answered only where there is a socket; a test ends sessions with it.
admin_socket = $DIR/run/mds.asok
END
}

# Arguments: name, key, capabilities for mon, mgr, osd, mds.
keyring_user() {
    printf '[%s]\nkey = %s\ncaps mon = "%s"\ncaps mgr = "%s"\ncaps osd = "%s"\ncaps mds = "%s"\n' "$@"
}

# The monitor takes all users from bootstrap.keyring when it is made, so none is added by command.
# client.csi is not in the keyring that ceph.conf names: whoever uses it has to give the key.
write_keyrings() {
    local name key pools
    for name in client.admin mon. mgr.a mds.a "${OSDS[@]}"; do
        key=$(ceph-authtool --gen-print-key)
        keyring_user "$name" "$key" 'allow *' 'allow *' 'allow *' 'allow *'
    done >"$DIR/keyring"
    key=$(ceph-authtool --gen-print-key)
    printf '%s\n' "$key" >"$DIR/csi.key"
    pools=$(printf 'profile rbd pool=%s, ' "${RBD_POOLS[@]}")
    cp "$DIR/keyring" "$DIR/bootstrap.keyring"
    keyring_user client.csi "$key" 'profile rbd, allow r' 'allow rw' \
        "${pools}allow rw tag cephfs *=*" 'allow *' >>"$DIR/bootstrap.keyring"
}

setup_commands() {
    local n
    # Else the manager makes a pool of its own, for the health of disks. The option is unknown, and
    # needs --force, until a manager has run.
    printf 'config set mgr mgr/devicehealth/enable_monitoring false --force\n'
    for n in "${!OSDS[@]}"; do
        printf 'osd create\n'
        printf 'osd crush add %s 1.0 root=default zone=%s host=host-%s\n' \
            "${OSDS[n]}" "${ZONES[n]}" "${ZONES[n]#zone-}"
    done
    printf 'osd pool create common\n'
    for n in "${ZONES[@]}"; do
        printf 'osd crush rule create-replicated %s-rule %s host\n' "$n" "$n"
        printf 'osd pool create %s %d %d replicated %s-rule\n' "$n" $PG_NUM $PG_NUM "$n"
    done
}

cephfs_commands() {
    local n
    printf 'osd pool create %s\n' "${CEPHFS_POOLS[@]:0:2}"
    printf 'fs new cephfs %s\n' "${CEPHFS_POOLS[*]:0:2}"
    for n in "${ZONES[@]}"; do
        printf 'osd pool create cephfs.%s %d %d replicated %s-rule\n' "$n" $PG_NUM $PG_NUM "$n"
        printf 'fs add_data_pool cephfs cephfs.%s\n' "$n"
    done
}

# Arguments: fsid, v2 port, v1 port. A client tries an address without a protocol with both, but
# prints an error when it asks a v1 port for v2, so the tests get the v2 port. A kernel client takes
# such an address for v1.
write_test_files() {
    printf '%s=%q\n' CEPH_CONF "$DIR/ceph.conf" FSID "$1" MONITORS "$ADDRESS:$2" \
        MONITORS_V1 "$ADDRESS:$3" CSI_USER csi CSI_KEY_FILE "$DIR/csi.key" \
        POOLS "${RBD_POOLS[*]}" >"$DIR/env"
    printf '[{"clusterID":"%s","monitors":["%s"]}]\n' "$1" "$ADDRESS:$2" >"$DIR/config.json"
}
