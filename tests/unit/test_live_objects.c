/* A live cluster explains itself as its dump does, also through a server that flaps. */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"
#include "common/scheduling/explain.h"
#include "programs/cephzone/live_objects.h"
#include "programs/cephzone/object_source.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/test.h"

#define DATA "tests/data/explain/"

static const struct {
    const char *kind, *api, *resource;
    bool is_namespaced;
} RESOURCES[] = {
    {"Node", "v1", "nodes", false},
    {"PersistentVolume", "v1", "persistentvolumes", false},
    {"PersistentVolumeClaim", "v1", "persistentvolumeclaims", true},
    {"Pod", "v1", "pods", true},
    {"StorageClass", "storage.k8s.io/v1", "storageclasses", false},
    {"CSIDriver", "storage.k8s.io/v1", "csidrivers", false},
    {"CSINode", "storage.k8s.io/v1", "csinodes", false},
    {"CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities", true},
    {"VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", false},
};

static struct kube_location location_of(const json_t *item)
{
    const char *kind = kube_text(item, "kind", NULL);

    for (size_t i = 0; i < ARRAY_LENGTH(RESOURCES); i++)
        if (strcmp(RESOURCES[i].kind, kind) == 0)
            return (struct kube_location){
                .api = RESOURCES[i].api,
                .resource = RESOURCES[i].resource,
                .name_space = RESOURCES[i].is_namespaced ? kube_namespace(item) : NULL,
                .name = kube_name(item),
            };
    fail_msg("no resource of kind '%s'", kind);
    return (struct kube_location){0};
}

static void put_item(struct fake_kube *fake, const json_t *item)
{
    const struct kube_location location = location_of(item);
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *path = NULL;
    /* as the API server lists it */
    json_auto_t *bare = json_copy((json_t *)(uintptr_t)item);
    json_object_del(bare, "kind");
    json_object_del(bare, "apiVersion");
    _cleanup_free_ char *text = json_dumps(bare, 0);
    if (kube_path(&location, &path, &err) < 0)
        fail_msg("%s", err.message);
    fake_kube_put(fake, path, text);
}

static void put_dump(struct fake_kube *fake, const char *path)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *json = NULL;

    if (json_load_path(path, OBJECTS_FILE_LIMIT, &json, &err) < 0)
        fail_msg("%s", err.message);
    const json_t *items = json_object_get(json, "items");
    for (size_t i = 0; i < json_array_size(items); i++)
        put_item(fake, json_array_get(items, i));
}

static char *headline(struct cluster_objects *cluster)
{
    _cleanup_explanation_ struct explanation explanation = {0};
    _cleanup_error_ struct error err = {0};
    struct binding_options options;

    assert_int_equal(binding_options_parse("", &options, &err), 0);
    cluster->rules = options.rules;
    if (explain_pod(cluster, &options, "shop", "web-0", &explanation, &err) < 0)
        fail_msg("%s", err.message);
    return xasprintf("%s\n%s", explanation.headline, explanation.summary);
}

static void write_kubeconfig(const char *path, const char *server)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    fprintf(file,
            "current-context: test\n"
            "contexts: [{name: test, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: '%s'}}]\n"
            "users: [{name: u, user: {token: t}}]\n",
            server);
}

TEST(live_cluster_is_explained_as_its_dump)
{
    static const char *const dumps[] = {"full-zone.json", "missing-capacity.json",
                                        "takeover-active.json", "prebound-conflict.json"};
    char path[] = "/tmp/cephzone-kubeconfig-XXXXXX";

    close(mkstemp(path));
    for (unsigned i = 0; i < ARRAY_LENGTH(dumps); i++) {
        _cleanup_free_ char *file = xasprintf(DATA "%s", dumps[i]);
        _cleanup_fake_kube_ struct fake_kube *fake = fake_kube_new();
        _cleanup_cluster_ struct cluster_objects from_file = {0};
        _cleanup_cluster_ struct cluster_objects live = {0};
        struct flapping_kube flapping = {.permille = i * 50, .seed = i};
        _cleanup_error_ struct error err = {0};

        put_dump(fake, file);
        flapping_kube_start(&flapping, fake);
        write_kubeconfig(path, flapping_server_url(flapping.server));
        if (objects_load(file, &from_file, &err) < 0 ||
            live_objects_load(path, "", &live, &err) < 0)
            fail_msg("%s: %s", dumps[i], err.message);
        flapping_kube_stop(&flapping);
        _cleanup_free_ char *wanted = headline(&from_file);
        _cleanup_free_ char *got = headline(&live);
        assert_string_equal(got, wanted);
    }
    unlink(path);
}

TEST(resource_that_may_not_be_listed_is_named)
{
    char path[] = "/tmp/cephzone-kubeconfig-XXXXXX";
    _cleanup_fake_kube_ struct fake_kube *fake = fake_kube_new();
    _cleanup_cluster_ struct cluster_objects live = {0};
    struct flapping_kube flapping = {.permille = 0};
    _cleanup_error_ struct error err = {0};

    close(mkstemp(path));
    flapping_kube_start(&flapping, fake);
    fake_kube_fail_all(fake, STATUS_PERMISSION_DENIED);
    write_kubeconfig(path, flapping_server_url(flapping.server));
    assert_int_equal(live_objects_load(path, "", &live, &err), -1);
    flapping_kube_stop(&flapping);
    unlink(path);
    assert_int_equal(err.status, STATUS_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "list nodes"));
}
