#include "programs/cephzone/check/check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/usage/storage_class.h"
#include "programs/cephzone/check/check_internal.h"

const char *check_result_name(enum check_result result)
{
    static const char *const names[] = {
        [CHECK_PASS] = "pass",
        [CHECK_WARN] = "warn",
        [CHECK_FAIL] = "fail",
    };

    return names[result];
}

/* --- findings --- */

static bool has_finding(const struct check_report *report, const char *subject, const char *object,
                        const char *what)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct check_finding *finding = &report->findings[i];

        if (strcmp(finding->check, subject) == 0 && strcmp(finding->object, object) == 0 &&
            strcmp(finding->what, what) == 0)
            return true;
    }
    return false;
}

/* Takes @what over. */
static void add_finding(struct check_report *report, enum check_result result, const char *subject,
                        const char *object, char *what, const char *advice)
{
    struct check_finding *finding = array_add(report->findings, report->count);

    *finding = (struct check_finding){result, subject, xstrdup(object), what, xstrdup(advice)};
    report->counts[result]++;
}

void check_add(struct check *check, enum check_result result, const char *subject,
               const char *object, const char *advice, const char *fmt, ...)
{
    _cleanup_free_ char *what = xformat_arguments(fmt);
    if (!has_finding(check->report, subject, object, what))
        add_finding(check->report, result, subject, object, TAKE(what), advice);
}

void check_add_pass(struct check *check, const char *subject, const char *fmt, ...)
{
    for (size_t i = 0; i < check->report->count; i++)
        if (strcmp(check->report->findings[i].check, subject) == 0)
            return;
    add_finding(check->report, CHECK_PASS, subject, "", xformat_arguments(fmt), "");
}

/* The worst first; else in the order in which they were found. */
static void sort_report(struct check_report *report)
{
    struct check_finding *sorted = xcalloc(report->count + 1, sizeof(*sorted));
    size_t count = 0;

    for (int result = CHECK_FAIL; result >= CHECK_PASS; result--)
        for (size_t i = 0; i < report->count; i++)
            if ((int)report->findings[i].result == result)
                sorted[count++] = report->findings[i];
    free(report->findings);
    report->findings = sorted;
}

void check_report_done(struct check_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free_all(report->findings[i].object, report->findings[i].what, report->findings[i].advice);
    free(report->findings);
    *report = (struct check_report){0};
}

/* --- what the subjects share --- */

enum class_driver check_class_driver(const char *name)
{
    return storage_class_is_cephfs(name) ? CLASS_CEPHFS : CLASS_RBD;
}

bool check_class_has_places(const struct kube_class *class)
{
    return class_parameter_get(&class->parameters, PARAM_CONSTRAINED_POOLS) ||
           class_parameter_get(&class->parameters, PARAM_TOPOLOGY_POOLS);
}

const struct check_driver *check_find_driver(const struct check *check, const char *name)
{
    for (size_t i = 0; i < check->driver_count; i++)
        if (strcmp(check->drivers[i].name, name) == 0)
            return &check->drivers[i];
    return NULL;
}

static void check_gaps(struct check *check)
{
    const struct check_world *world = check->world;

    for (size_t i = 0; i < world->gap_count; i++)
        check_add(check, CHECK_WARN, "rights", world->gaps[i].what,
                  "give the user this right, or check from a dump (--from)", "not looked at: %s",
                  world->gaps[i].reason);
    check_add_pass(check, "rights", "everything that is looked at could be read");
}

void check_run(const struct check_world *world, struct check_report *report)
{
    struct check check = {.world = world, .report = report};

    check_drivers(&check);
    check_objects(&check);
    check_classes(&check);
    check_users(&check);
    check_gaps(&check);
    check_drivers_done(&check);
    sort_report(report);
}
