#pragma once

#include "controller/fsck/fsck.h"

/* One line per finding, aligned, and a closing line with what was examined. To stdout. */
void fsck_print_table(const struct fsck_report *report);

/* The same facts. @repaired says of each finding whether it has been repaired; NULL: none. */
void fsck_print_json(const struct fsck_report *report, const bool *repaired);
