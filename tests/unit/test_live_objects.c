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
#include "tests/unit/fixtures/live_cluster.h"

#define DATA "tests/data/explain/"

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

        live_cluster_put_dump(fake, file);
        flapping_kube_start(&flapping, fake);
        live_cluster_write_kubeconfig(path, flapping_server_url(flapping.server));
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
    live_cluster_write_kubeconfig(path, flapping_server_url(flapping.server));
    assert_int_equal(live_objects_load(path, "", &live, &err), -1);
    flapping_kube_stop(&flapping);
    unlink(path);
    assert_int_equal(err.status, STATUS_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "list nodes"));
}
