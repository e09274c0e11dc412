#pragma once

#include <stddef.h>

#include "programs/cephzone/check/check_world.h"

/*
 * Whether a cluster that runs Ceph-CSI, or this driver, is ready for the other: what would be
 * ignored, refused or left hanging. Pure. One thread.
 */
enum check_result { CHECK_PASS, CHECK_WARN, CHECK_FAIL };

struct check_finding {
    enum check_result result;
    const char *check; /* static: "flags" */
    char *object;      /* "" where it is about no single one */
    char *what;
    char *advice; /* "" where nothing is to be done */
};

struct check_report {
    struct check_finding *findings; /* failures first */
    size_t count;
    size_t counts[CHECK_FAIL + 1];
};

/* "pass", "warn", "fail" */
const char *check_result_name(enum check_result result);

/* @report is zero; check_report_done() frees. */
void check_run(const struct check_world *world, struct check_report *report);
void check_report_done(struct check_report *report);
#define _cleanup_check_report_ _cleanup_(check_report_done)
