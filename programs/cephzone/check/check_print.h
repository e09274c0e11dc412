#pragma once

#include <stdio.h>

#include "programs/cephzone/check/check.h"

/* How the report is printed. Main thread. */
void check_print_table(const struct check_report *report, FILE *file);
void check_print_json(const struct check_report *report, FILE *file);
