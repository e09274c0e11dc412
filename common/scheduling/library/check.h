#pragma once

#include "common/scheduling/library/library.h"
#include "common/scheduling/pod_survey.h"

/* The result of a check, between those who make it and those who act upon it. */

struct check_row {
    char *node;
    size_t at; /* among the cluster's nodes */
    bool fits;
    int64_t score;
    int64_t preference;
    struct node_rejection rejection;
};

struct czs_check {
    const struct czs_cluster *cluster; /* never followed: only compared */
    uint64_t generation;               /* of which @survey is true */
    struct pod_survey survey;
    struct check_row *rows;
    size_t count;
    size_t fitting;
    char *summary;
};
