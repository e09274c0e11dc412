#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/scheduling/library/include/cephzone/scheduling.h"
#include "tests/fuzz/bytes.h"

/*
 * Each line is a call of libcephzone-scheduling, its first byte says which: 'p' puts the JSON that
 * follows, 'c' does so as a change with hints, 'r' removes "KIND NAMESPACE NAME", 's' schedules a
 * pod of the namespace shop, 'b' asks whether its volumes are bound, 'v' reverts it, 'e' explains
 * it. Nothing may abort, and what fails changes nothing and says why.
 */

#define LINES_MAX 64

struct run {
    struct czs_cluster *cluster;
    struct czs_binding *binding;
};

static void judge(const struct run *run, int status, char *error, uint64_t generation)
{
    if (status < 0) {
        assert(error && error[0] != '\0');
        assert(czs_cluster_generation(run->cluster) == generation);
    } else {
        assert(!error);
    }
    czs_text_free(error);
}

/* The call, which names '&error', succeeds, or fails with a text and leaves the cluster alone. */
#define MUST_EXPLAIN(run, call)                                                                    \
    do {                                                                                           \
        uint64_t generation = czs_cluster_generation((run)->cluster);                              \
        char *error = NULL;                                                                        \
        int status = (call);                                                                       \
                                                                                                   \
        judge((run), status, error, generation);                                                   \
    } while (0)

static void change_cluster(struct run *run, const char *json)
{
    struct czs_change *change = NULL;

    MUST_EXPLAIN(run, czs_change_put(json, strlen(json), &change, &error));
    if (!change)
        return;
    int helps = czs_change_may_help(run->cluster, change, "shop", "web-0", 15, NULL);
    assert(helps == 0 || helps == 1 || helps == CZS_NOT_FOUND);
    assert(czs_change_invalidates(run->cluster, change) <= (CZS_VOLUME_RESTRICTIONS | 7));
    MUST_EXPLAIN(run, czs_change_apply(run->cluster, change, &error));
    assert(czs_change_apply(run->cluster, change, NULL) == CZS_REFUSED);
    czs_change_free(change);
}

static void remove_object(struct run *run, char *words)
{
    const char *kind = strsep(&words, " ");
    const char *ns = strsep(&words, " ");

    MUST_EXPLAIN(run, czs_cluster_remove(run->cluster, kind, ns, words, &error));
}

static void check_writes(const struct czs_binding *binding)
{
    for (size_t i = 0; i < czs_binding_writes(binding); i++) {
        json_auto_t *patch = json_loads(czs_write_patch(binding, i), 0, NULL);

        assert(json_is_object(json_object_get(patch, "metadata")));
        assert(czs_write_kind(binding, i) && czs_write_namespace(binding, i));
        assert(czs_write_name(binding, i)[0] != '\0');
    }
}

static void schedule_pod(struct run *run, const char *pod)
{
    struct czs_check *check = NULL;

    MUST_EXPLAIN(run, czs_check_pod(run->cluster, "shop", pod, NULL, &check, &error));
    assert(!check || czs_check_count(check) == czs_cluster_count(run->cluster, "Node"));
    for (size_t i = 0; i < czs_check_count(check); i++)
        if (!czs_check_fits(check, i)) {
            assert(czs_check_plugin(check, i) != 0 && czs_check_reason(check, i, 0));
            assert(czs_assume(run->cluster, check, i, &run->binding, NULL) < 0);
        } else if (!run->binding) {
            assert(czs_check_score(check, i) >= 0);
            MUST_EXPLAIN(run, czs_assume(run->cluster, check, i, &run->binding, &error));
            check_writes(run->binding);
        }
    czs_check_free(check);
}

static void revert_pod(struct run *run)
{
    if (run->binding)
        assert(czs_revert(run->cluster, run->binding, NULL) == CZS_OK);
    czs_binding_free(run->binding);
    run->binding = NULL;
}

static void explain_pod(struct run *run, const char *pod)
{
    char *text = NULL;

    MUST_EXPLAIN(run, czs_explain_pod(run->cluster, "shop", pod, CZS_JSON, &text, NULL, &error));
    czs_text_free(text);
}

static void run_line(struct run *run, char *line)
{
    char *rest = line[0] ? line + 1 : line;

    switch (line[0]) {
    case 'p':
        MUST_EXPLAIN(run, czs_cluster_put(run->cluster, rest, strlen(rest), &error));
        break;
    case 'c':
        change_cluster(run, rest);
        break;
    case 'r':
        remove_object(run, rest);
        break;
    case 's':
        schedule_pod(run, rest);
        break;
    case 'b':
        MUST_EXPLAIN(run, czs_bound(run->cluster, run->binding, &error));
        break;
    case 'v':
        revert_pod(run);
        break;
    case 'e':
        explain_pod(run, rest);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const versions[] = {"1.37", "1.19", "1.34", "original"};
    struct fuzz_bytes bytes = {data, size};
    struct run run = {0};
    int status = czs_cluster_new(versions[fuzz_below(&bytes, 4)], &run.cluster, NULL);

    assert(status == CZS_OK);
    for (size_t i = 0; i < LINES_MAX && bytes.size > 0; i++) {
        _cleanup_free_ char *line = fuzz_line(&bytes);

        run_line(&run, line);
    }
    revert_pod(&run);
    czs_cluster_free(run.cluster);
    return 0;
}
