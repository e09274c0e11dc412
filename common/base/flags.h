#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/base/string_list.h"

/*
 * Command-line flags as Go's flag package reads them, because deployments written for Go programs
 * must work unchanged: -x and --x are the same, a value follows after '=' or as the next argument,
 * a boolean takes a value only after '=', the last of several wins, there are no abbreviations, and
 * reading ends at the first argument that is no flag or behind "--".
 *
 * A target holds the default before and the result after parsing; a string without a default (NULL)
 * is "" afterwards. Main thread, at start.
 */
enum flag_kind {
    FLAG_STRING,        /* const char *; points into argv afterwards */
    FLAG_BOOL,          /* bool */
    FLAG_INT,           /* int64_t */
    FLAG_UINT,          /* uint64_t */
    FLAG_DURATION,      /* int64_t, milliseconds; written "60s" or "1h2m" */
    FLAG_STRING_LIST,   /* struct string_list; each use appends */
    FLAG_IGNORED_BOOL,  /* legacy: --x or --x=anything. const char *, as written; may be NULL */
    FLAG_IGNORED_VALUE, /* legacy: --x=anything or --x anything. As the one above */
};

struct flag {
    const char *name; /* without dashes */
    enum flag_kind kind;
    void *target;
    const char *value_name; /* for the usage text; NULL: named after the kind */
    const char *help;       /* of a legacy flag: the reason why it is ignored; NULL: short form */
};

/* A row without help is the short form, one letter, of the row after it, with the same target. Its
 * value may follow at once: "-ojson". */
bool flag_is_short(const struct flag *flag);

/*
 * Reads the flags in @argv from index 1 on; argv[0] is the program's or the subcommand's name.
 * *@next becomes the index of the first argument that is no flag, @argc if there is none.
 *
 * Fails with INVALID_ARGUMENT in Go's words ("flag provided but not defined: -x") and, where a
 * flag's name is close, with a hint. The targets then hold what was read until there.
 */
_must_check_ int flags_parse(const struct flag *table, size_t count, int argc, char **argv,
                             int *next, struct error *err);

/* Lists the flags in the table's order with kind, help and current value as the default; call it
 * before flags_parse(). Legacy flags come last. */
void flags_print_usage(FILE *file, const struct flag *table, size_t count);
