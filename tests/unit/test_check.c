/*
 * cephzone check from dumps: a cluster without faults, one with ten of them, and single changes of
 * the first one. tests/data/check has the dumps.
 */
#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "programs/cephzone/check/check.h"
#include "programs/cephzone/check/check_print.h"
#include "programs/cephzone/object_source.h"
#include "tests/test.h"
#include "tests/unit/fixtures/files.h"

#define DATA "tests/data/check/"
#define OLD_LIBRARY "18.2.0" /* does not know keys of type 2 */

static void read_dump(const char *name, struct check_world *world)
{
    _cleanup_free_ char *objects = xasprintf(DATA "%s.yaml", name);
    _cleanup_free_ char *users = xasprintf(DATA "%s-caps.json", name);
    _cleanup_error_ struct error err = {0};
    json_auto_t *caps = NULL;

    world->library_version = OLD_LIBRARY;
    if (objects_each_document(objects, check_world_read, world, &err) < 0 ||
        json_load_path(users, JSON_TEXT_LIMIT, &caps, &err) < 0 ||
        check_world_add_caps(world, caps, &err) < 0)
        fail_msg("%s", err.message);
}

static const struct check_finding *find(const struct check_report *report, const char *check,
                                        const char *object, const char *part)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct check_finding *finding = &report->findings[i];

        if (strcmp(finding->check, check) == 0 && strstr(finding->object, object) &&
            strstr(finding->what, part))
            return finding;
    }
    return NULL;
}

static void print_all(const struct check_report *report)
{
    check_print_table(report, stderr);
}

TEST(cluster_without_faults_has_no_failure)
{
    _cleanup_check_world_ struct check_world world = {0};
    _cleanup_check_report_ struct check_report report = {0};

    read_dump("clean", &world);
    check_world_settle(&world);
    check_run(&world, &report);
    if (report.counts[CHECK_FAIL] > 0)
        print_all(&report);
    assert_int_equal(report.counts[CHECK_FAIL], 0);
    /* what the operator passes to every driver, and this one does not need */
    const struct check_finding *flag =
        find(&report, "flags", "rook-ceph.rbd.csi.ceph.com", "--pidlimit=-1");
    assert_non_null(flag);
    assert_int_equal(flag->result, CHECK_WARN);
    assert_int_equal(report.counts[CHECK_WARN], 2); /* of two drivers, once each */
}

/* Each is in the dump once, and is found with what to do. */
static const struct {
    enum check_result result;
    const char *check;
    const char *object;
    const char *what;
    const char *advice;
} FAULTS[] = {
    {CHECK_WARN, "version", "rook-ceph.rbd.csi.ceph.com", "Ceph-CSI 3.18 is newer", "migration.md"},
    {CHECK_FAIL, "flags", "rook-ceph.rbd.csi.ceph.com", "--rbdsoftmaxclonedeph=3", "correct it"},
    {CHECK_WARN, "csidriver", "rook-ceph.rbd.csi.ceph.com", "podInfoOnMount is false", "set"},
    {CHECK_FAIL, "finalizers", "rook-ceph.cephfs.csi.ceph.com", "VolumeAttachment(s), such as",
     "csi-attacher"},
    {CHECK_FAIL, "finalizers", "rook-ceph.cephfs.csi.ceph.com", "PersistentVolume(s), such as",
     "csi-attacher"},
    {CHECK_FAIL, "nodes", "node-b", "'topology.kubernetes.io/zone'", "label the node"},
    {CHECK_WARN, "class", "StorageClass 'zones'", "'poolSelecton'", "'poolSelection'"},
    {CHECK_WARN, "topology", "StorageClass 'zones'", "a pool 'names'", "cephzone settle"},
    {CHECK_FAIL, "key", "rook-ceph/rook-csi-rbd-node", "type 2 (aes256k)", "before the switch"},
    {CHECK_FAIL, "caps", "client.csi-cephfs-provisioner", "mgr caps 'allow r'", "allow rw"},
};

TEST(ten_faults_are_found)
{
    _cleanup_check_world_ struct check_world world = {0};
    _cleanup_check_report_ struct check_report report = {0};
    size_t planted = ARRAY_LENGTH(FAULTS);

    read_dump("faults", &world);
    check_world_settle(&world);
    check_run(&world, &report);
    for (size_t i = 0; i < planted; i++) {
        const struct check_finding *finding =
            find(&report, FAULTS[i].check, FAULTS[i].object, FAULTS[i].what);

        if (!finding) {
            print_all(&report);
            fail_msg("'%s' does not find %s", FAULTS[i].check, FAULTS[i].object);
            return; /* for analyzers, which do not know that it is not reached */
        }
        assert_int_equal(finding->result, FAULTS[i].result);
        assert_non_null(strstr(finding->advice, FAULTS[i].advice));
    }
    /* and nothing else, but for --pidlimit of both drivers */
    assert_int_equal(report.counts[CHECK_FAIL] + report.counts[CHECK_WARN], planted + 2);
}

TEST(failures_come_first_and_nothing_secret_is_printed)
{
    _cleanup_check_world_ struct check_world world = {0};
    _cleanup_check_report_ struct check_report report = {0};
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    read_dump("faults", &world);
    check_world_settle(&world);
    check_run(&world, &report);
    for (size_t i = 1; i < report.count; i++)
        assert_true(report.findings[i - 1].result >= report.findings[i].result);
    check_print_table(&report, file);
    check_print_json(&report, file);
    fclose(file);
    assert_non_null(strstr(text, "6 fail, 6 warn"));
    assert_null(strstr(text, "AQAAAABm"));
    assert_null(strstr(text, "AgAAAABm"));
}

/* --- one change at a time --- */

/* A document more, as text of JSON, and what must be found then. */
static const struct {
    const char *document;
    enum check_result result;
    const char *check;
    const char *object;
    const char *what;
} CHANGES[] = {
    {"{'kind': 'Deployment', 'metadata': {'name': 'nfs', 'namespace': 'x'}, 'spec': {'template': "
     "{'spec': {'containers': [{'name': 'p', 'image': 'quay.io/cephcsi/cephcsi:v3.17.0', 'args': "
     "['--type=nfs', '--nodeid=n', '--endpoint=unix:///csi/csi.sock', "
     "'--drivername=nfs.csi.ceph.com']}]}}}}",
     CHECK_FAIL, "flags", "nfs.csi.ceph.com", "NFS exports are not served"},
    {"{'kind': 'DaemonSet', 'metadata': {'name': 'new', 'namespace': 'x'}, 'spec': {'template': "
     "{'spec': {'containers': [{'name': 'p', 'image': 'quay.io/cephcsi/cephcsi:v3.16.2', 'args': "
     "['--type=rbd', '--nodeid=n', '--nodeserver', '--endpoint=unix:///csi/csi.sock', "
     "'--drivername=rook-ceph.rbd.csi.ceph.com']}]}}}}",
     CHECK_WARN, "version", "rook-ceph.rbd.csi.ceph.com", "two images"},
    {"{'kind': 'DaemonSet', 'metadata': {'name': 'odd', 'namespace': 'x'}, 'spec': {'template': "
     "{'spec': {'containers': [{'name': 'p', 'image': 'quay.io/cephcsi/cephcsi:canary', 'args': "
     "['--type=rbd', '--nodeid=n', '--nodeserver', '--endpoint=unix:///csi/csi.sock', "
     "'--drivername=odd.rbd.csi.ceph.com']}]}}}}",
     CHECK_WARN, "version", "odd.rbd.csi.ceph.com", "does not tell its version"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.rbd.csi.ceph.com', 'parameters': {'clusterID': 'c', 'pool': 'p', 'encrypted': "
     "'true'}}",
     CHECK_FAIL, "class", "StorageClass 's'", "does not encrypt"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.rbd.csi.ceph.com', 'parameters': {'clusterID': 'a', 'pool': 'p', "
     "'imageFeatures': 'telepathy'}}",
     CHECK_FAIL, "class", "StorageClass 's'", "unknown feature 'telepathy'"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.rbd.csi.ceph.com', 'parameters': {'clusterID': 'a', 'pool': 'p', "
     "'stripeUnit': '4096'}}",
     CHECK_FAIL, "class", "StorageClass 's'", "must be given together"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.rbd.csi.ceph.com', 'parameters': {'clusterID': 'c', 'pool': 'p', "
     "'rbd_qos_iops_limit': '1'}}",
     CHECK_WARN, "class", "StorageClass 's'", "in a StorageClass"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.cephfs.csi.ceph.com', 'parameters': {'clusterID': 'c', 'fsName': 'f', "
     "'topologyPools': 'auto'}}",
     CHECK_FAIL, "topology", "StorageClass 's'", "Topology=false"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.rbd.csi.ceph.com', 'volumeBindingMode': 'WaitForFirstConsumer', 'parameters': "
     "{'clusterID': 'c', 'pool': 'p', 'topologyPools': 'auto', 'immediateTopology': 'pin'}}",
     CHECK_FAIL, "topology", "StorageClass 's'", "immediateTopology: pin, but"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.cephfs.csi.ceph.com', 'parameters': {'clusterID': 'c', 'fsName': 'f', "
     "'topologyPools': 'auto'}}",
     CHECK_FAIL, "nodes", "rook-ceph.cephfs.csi.ceph.com", "no --domainlabels"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.rbd.csi.ceph.com', 'parameters': {'clusterID': 'c', 'pool': 'p', "
     "'csi.storage.k8s.io/provisioner-secret-name': 'gone', "
     "'csi.storage.k8s.io/provisioner-secret-namespace': 'rook-ceph'}}",
     CHECK_FAIL, "secret", "rook-ceph/gone", "is not there"},
    {"{'kind': 'StorageClass', 'metadata': {'name': 's'}, 'provisioner': "
     "'rook-ceph.rbd.csi.ceph.com', 'parameters': {'clusterID': 'c', 'pool': 'p', "
     "'csi.storage.k8s.io/provisioner-secret-name': '${pvc.name}', "
     "'csi.storage.k8s.io/provisioner-secret-namespace': 'x'}}",
     CHECK_WARN, "secret", "${pvc.name}", "from claim to claim"},
    {"{'kind': 'VolumeAttributesClass', 'metadata': {'name': 'v'}, 'driverName': "
     "'rook-ceph.rbd.csi.ceph.com', 'parameters': {'rbd_qos_iops_limt': '1'}}",
     CHECK_FAIL, "class", "VolumeAttributesClass 'v'", "is refused"},
    {"{'kind': 'VolumeSnapshotClass', 'metadata': {'name': 'v'}, 'driver': "
     "'rook-ceph.rbd.csi.ceph.com', 'parameters': {'snapshotNamePrefx': '1'}}",
     CHECK_WARN, "class", "VolumeSnapshotClass 'v'", "'snapshotNamePrefx'"},
    {"{'kind': 'CSIDriver', 'metadata': {'name': 'rook-ceph.rbd.csi.ceph.com'}, 'spec': "
     "{'attachRequired': false, 'podInfoOnMount': true, 'seLinuxMount': true, 'fsGroupPolicy': "
     "'File'}}",
     CHECK_FAIL, "finalizers", "rook-ceph.rbd.csi.ceph.com", "attachRequired: false"},
    {"{'kind': 'CSIDriver', 'metadata': {'name': 'rook-ceph.rbd.csi.ceph.com'}, 'spec': "
     "{'podInfoOnMount': true, 'seLinuxMount': true}}",
     CHECK_WARN, "csidriver", "rook-ceph.rbd.csi.ceph.com", "ReadWriteOnceWithFSType"},
    {"{'kind': 'CSIDriver', 'metadata': {'name': 'rook-ceph.rbd.csi.ceph.com'}, 'spec': "
     "{'podInfoOnMount': true, 'fsGroupPolicy': 'File'}}",
     CHECK_WARN, "csidriver", "rook-ceph.rbd.csi.ceph.com", "storageCapacity is false"},
    {"{'kind': 'CSIDriver', 'metadata': {'name': 'rook-ceph.cephfs.csi.ceph.com'}, 'spec': "
     "{'podInfoOnMount': true, 'fsGroupPolicy': 'File', 'storageCapacity': true}}",
     CHECK_FAIL, "csidriver", "rook-ceph.cephfs.csi.ceph.com", "no CSIStorageCapacity"},
    {"{'kind': 'VolumeAttachment', 'metadata': {'name': 'old', 'finalizers': "
     "['external-attacher/rbd-csi-ceph-com']}, 'spec': {'attacher': 'rbd.csi.ceph.com'}}",
     CHECK_FAIL, "finalizers", "rbd.csi.ceph.com", "there is no CSIDriver of that name"},
};

TEST(one_change_is_found)
{
    for (size_t i = 0; i < ARRAY_LENGTH(CHANGES); i++) {
        _cleanup_check_world_ struct check_world world = {0};
        _cleanup_check_report_ struct check_report report = {0};
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *text = xstrdup(CHANGES[i].document);
        json_auto_t *document = NULL;

        for (char *quote = text; (quote = strchr(quote, '\''));)
            *quote = '"';
        read_dump("clean", &world);
        if (json_load_text(text, strlen(text), "change", &document, &err) < 0 ||
            check_world_read(&world, document, &err) < 0)
            fail_msg("change %zu: %s", i, err.message);
        check_world_settle(&world);
        check_run(&world, &report);
        const struct check_finding *finding =
            find(&report, CHANGES[i].check, CHANGES[i].object, CHANGES[i].what);
        if (!finding || finding->result != CHANGES[i].result) {
            print_all(&report);
            fail_msg("change %zu was not found", i);
        }
    }
}

TEST(key_is_judged_by_the_library_of_the_driver)
{
    _cleanup_check_world_ struct check_world world = {0};
    _cleanup_check_report_ struct check_report report = {0};

    read_dump("faults", &world);
    world.library_version = "20.2.4";
    check_world_settle(&world);
    check_run(&world, &report);
    const struct check_finding *finding = find(&report, "key", "", "librados 20.2.4 can use");
    assert_non_null(finding);
    assert_int_equal(finding->result, CHECK_PASS);
}
