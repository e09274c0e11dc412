#include <unistd.h>

#include "common/base/memory.h"
#include "controller/fsck/pv_dump.h"
#include "tests/test.h"

#define PV(name, driver, handle)                                                                   \
    "{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"" name                                \
    "\",\"uid\":\"1\"},\"spec\":{\"csi\":{\"driver\":\"" driver "\",\"volumeHandle\":\"" handle    \
    "\"},\"persistentVolumeReclaimPolicy\":\"Retain\"},\"status\":{\"phase\":\"Released\"}}"
#define LIST(items) "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" items "]}"

static int load(const char *json, struct pv_dump *dump, struct error *err)
{
    char path[] = "/tmp/cephzone-pvs-XXXXXX";
    _cleanup_close_ int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, strlen(json)), strlen(json));
    int result = pv_dump_load(path, "rbd.csi.ceph.com", dump, err);
    unlink(path);
    return result;
}

TEST(volumes_of_the_driver_are_taken)
{
    static const char json[] = LIST(PV("pv-1", "rbd.csi.ceph.com", "h-1") "," PV(
        "pv-2", "other",
        "h-2") ","
               "{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"local\"},\"spec\":{}}");
    _cleanup_error_ struct error err = {0};
    _cleanup_pv_dump_ struct pv_dump dump = {0};

    assert_int_equal(load(json, &dump, &err), 0);
    assert_int_equal(dump.count, 1);
    assert_string_equal(dump.items[0]->meta.name, "pv-1");
    assert_string_equal(dump.items[0]->handle, "h-1");
    assert_string_equal(dump.items[0]->reclaim_policy, "Retain");
    assert_string_equal(dump.items[0]->phase, "Released");
}

TEST(single_volume_and_empty_list_are_dumps_too)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_pv_dump_ struct pv_dump one = {0};
    _cleanup_pv_dump_ struct pv_dump none = {0};

    assert_int_equal(load(PV("pv-1", "rbd.csi.ceph.com", "h-1"), &one, &err), 0);
    assert_int_equal(one.count, 1);
    assert_int_equal(load(LIST(""), &none, &err), 0);
    assert_int_equal(none.count, 0);
}

TEST(anything_else_is_refused_with_its_place)
{
    static const struct {
        const char *json;
        const char *message;
    } cases[] = {
        {"{", "line 1"},
        {"[]", "expected a Kubernetes object"},
        {"{}", "kind: expected 'PersistentVolume'"},
        {LIST("{\"kind\":\"Pod\"}"), "items[0]: kind: expected 'PersistentVolume', found 'Pod'"},
        {LIST("7"), "items[0]: expected a Kubernetes object"},
        {"{\"items\":7}", "items: expected an array"},
        {LIST("{\"kind\":\"PersistentVolume\"}"),
         "items[0]: PersistentVolume '': metadata.name is missing"},
        {LIST("{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"csi\":{"
              "\"driver\":\"rbd.csi.ceph.com\"}}}"),
         "items[0]: spec.csi.volumeHandle is missing"},
        {LIST("{\"kind\":\"PersistentVolume\",\"spec\":{\"csi\":{\"driver\":7}}}"),
         "items[0]: PersistentVolume '': spec.csi.driver: expected a string"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_pv_dump_ struct pv_dump dump = {0};

        assert_int_equal(load(cases[i].json, &dump, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("wanted '%s', got '%s'", cases[i].message, err.message);
        assert_int_equal(dump.count, 0);
    }
}

TEST(missing_file_is_not_found)
{
    _cleanup_error_ struct error err = {0};
    struct pv_dump dump = {0};

    assert_int_equal(pv_dump_load("/nope/pvs.json", "d", &dump, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}
