#pragma once

#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strmap.h"

/*
 * The file .meta in which the manager keeps what it knows of a subvolume: sections of keys and
 * values. Only what the manager writes for the subvolumes of today is understood; anything else,
 * such as values of several lines, is the manager's to read. Any thread.
 */
struct meta_section {
    char *name;
    struct strmap entries;
};

struct subvolume_meta {
    struct meta_section *sections;
    size_t count;
};

/* INVALID_ARGUMENT, with the line, for what is not understood. Caller calls subvolume_meta_done().
 */
_must_check_ int subvolume_meta_parse(const char *text, struct subvolume_meta *meta,
                                      struct error *err);
/* NULL if there is none; borrowed. */
const struct strmap *subvolume_meta_find(const struct subvolume_meta *meta, const char *section);
/* A key of the subvolume itself: version, type, path, state; "" if there is none. */
const char *subvolume_meta_get(const struct subvolume_meta *meta, const char *key);
void subvolume_meta_done(struct subvolume_meta *meta);
#define _cleanup_subvolume_meta_ _cleanup_(subvolume_meta_done)
