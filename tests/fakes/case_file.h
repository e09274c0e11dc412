#pragma once

#include "common/base/string_list.h"

/*
 * Files of cases for tables that are easier read as text than as C:
 *
 *   # a comment
 *   == the name of the case | the rule that it shows
 *   a line that the test understands
 *   ...
 *
 * Each case becomes a test of its own. One without a rule fails the program: it would show nothing.
 */
struct case_lines {
    char *name; /* and the rule */
    struct string_list lines;
};

/* Adds a test to the program for every case in the files of the glob pattern, once; *state is its
 * struct case_lines. A file that cannot be read or has no case ends the program. */
void case_files_add(const char *pattern, void (*run)(void **state));

/* Cuts the first word off. Caller frees. */
char *case_next_word(const char **line);
