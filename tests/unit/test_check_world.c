/* A live cluster is seen as its dump is, and what may not be read is told. */
#include "common/base/memory.h"
#include "common/kube/kube.h"
#include "programs/cephzone/check/check.h"
#include "programs/cephzone/check/check_world.h"
#include "programs/cephzone/object_source.h"
#include "tests/fakes/fake_kube.h"
#include "tests/test.h"

#define DUMP "tests/data/check/faults.yaml"

static const char *resource_of(const char *kind, const char **api, bool *is_namespaced)
{
    const char *resource = kube_workload_resource(kind);

    *api = strcmp(kind, "Secret") == 0 ? "v1" : KUBE_WORKLOAD_API;
    *is_namespaced = true;
    if (resource)
        return resource;
    if (strcmp(kind, "Secret") == 0)
        return "secrets";
    *is_namespaced = false;
    resource = kube_driver_class_resource(kind, api);
    if (resource)
        return resource;
    enum kube_kind known = kube_kind_find(kind);
    *api = kube_kind_api(known);
    *is_namespaced = kube_kind_is_namespaced(known);
    return kube_kind_resource(known);
}

static int put_document(void *context, json_t *document, struct error *err)
{
    struct kube_location location = {.name = kube_name(document)};
    _cleanup_free_ char *path = NULL;
    bool is_namespaced = false;

    location.resource =
        resource_of(kube_text(document, "kind", NULL), &location.api, &is_namespaced);
    if (is_namespaced)
        location.name_space = kube_namespace(document);
    json_object_del(document, "kind"); /* as the API server lists it */
    _cleanup_free_ char *text = json_dumps(document, 0);
    if (kube_path(&location, &path, err) < 0)
        return -1;
    fake_kube_put(context, path, text);
    return 0;
}

static struct fake_kube *cluster_of_dump(void)
{
    struct fake_kube *fake = fake_kube_new();
    _cleanup_error_ struct error err = {0};

    if (objects_each_document(DUMP, put_document, fake, &err) < 0)
        fail_msg("%s", err.message);
    return fake;
}

static int list_world(struct fake_kube *fake, struct check_world *world, struct error *err)
{
    struct call call;

    world->library_version = "18.2.0";
    call_init(&call, 1, "check", deadline_in_ms(60000));
    int result = check_world_list(world, fake_kube_as_kube(fake), &call, err);
    call_done(&call);
    return result;
}

static bool has_finding(const struct check_report *report, const char *check, const char *object,
                        const char *part)
{
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->findings[i].check, check) == 0 &&
            strstr(report->findings[i].object, object) && strstr(report->findings[i].what, part))
            return true;
    return false;
}

TEST(live_cluster_has_the_findings_of_its_dump)
{
    _cleanup_fake_kube_ struct fake_kube *fake = cluster_of_dump();
    _cleanup_check_world_ struct check_world live = {0};
    _cleanup_check_world_ struct check_world dumped = {.library_version = "18.2.0"};
    _cleanup_check_report_ struct check_report from_live = {0};
    _cleanup_check_report_ struct check_report from_dump = {0};
    _cleanup_error_ struct error err = {0};

    if (list_world(fake, &live, &err) < 0 ||
        objects_each_document(DUMP, check_world_read, &dumped, &err) < 0)
        fail_msg("%s", err.message);
    check_world_settle(&dumped);
    check_run(&live, &from_live);
    check_run(&dumped, &from_dump);
    assert_int_equal(from_live.count, from_dump.count);
    for (size_t i = 0; i < from_dump.count; i++)
        assert_true(has_finding(&from_live, from_dump.findings[i].check,
                                from_dump.findings[i].object, from_dump.findings[i].what));
    assert_true(has_finding(&from_live, "key", "rook-csi-rbd-node", "type 2"));
}

TEST(missing_rights_are_gaps)
{
    _cleanup_fake_kube_ struct fake_kube *fake = cluster_of_dump();
    _cleanup_check_world_ struct check_world world = {0};
    _cleanup_check_report_ struct check_report report = {0};
    _cleanup_error_ struct error err = {0};

    fake_kube_forbid(fake, "get", "/api/v1/namespaces/rook-ceph/secrets/");
    fake_kube_forbid(fake, "list", "/apis/apps/v1/deployments");
    if (list_world(fake, &world, &err) < 0)
        fail_msg("%s", err.message);
    check_run(&world, &report);
    assert_true(has_finding(&report, "rights", "deployments", "list deployments"));
    assert_true(has_finding(&report, "secret", "rook-csi-rbd-node", "not looked at"));
    assert_false(has_finding(&report, "key", "rook-csi-rbd-node", ""));
    assert_true(has_finding(&report, "class", "zones", "poolSelecton"));
}

TEST(without_classes_there_is_nothing_to_say)
{
    _cleanup_fake_kube_ struct fake_kube *fake = cluster_of_dump();
    _cleanup_check_world_ struct check_world world = {0};
    _cleanup_error_ struct error err = {0};

    fake_kube_forbid(fake, "list", "/apis/storage.k8s.io/v1/storageclasses");
    assert_int_equal(list_world(fake, &world, &err), -1);
    assert_int_equal(err.status, STATUS_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "list storageclasses"));
}

TEST(users_are_taken_from_either_form_of_ceph_auth)
{
    static const char *const texts[] = {
        "{\"auth_dump\": [{\"entity\": \"client.a\", \"key\": \"k\", \"caps\": {\"mon\": \"x\"}}]}",
        "[{\"entity\": \"client.a\", \"key\": \"k\", \"caps\": {\"mon\": \"x\"}}]",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        _cleanup_check_world_ struct check_world world = {0};
        _cleanup_error_ struct error err = {0};
        json_auto_t *reply = json_loads(texts[i], 0, NULL);

        assert_int_equal(check_world_add_caps(&world, reply, &err), 0);
        assert_int_equal(world.caps_count, 1);
        assert_string_equal(world.caps[0].user, "a");
        assert_string_equal(strmap_get(&world.caps[0].caps, "mon"), "x");
    }
    _cleanup_check_world_ struct check_world world = {0};
    _cleanup_error_ struct error err = {0};
    json_auto_t *other = json_pack("{s:s}", "kind", "List");
    assert_int_equal(check_world_add_caps(&world, other, &err), -1);
}
