#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "common/base/condition.h"
#include "common/base/error.h"

/* What such files come from: no ConfigMap can be larger. */
#define CONFIGMAP_BYTES_MAX (1024UL * 1024)

/*
 * A file that is read again when it has changed: config.json, the takeover map, a node's labels.
 * Each use costs one stat(), which follows the symbolic links of a mounted ConfigMap. While the
 * file is broken or gone, the last good version stays in force; that is logged once and shows in
 * the health report. Any thread.
 */

/* What was read; first member of the struct that holds it. */
struct watched_version {
    atomic_int refs;
    void (*free)(struct watched_version *version);
};

/* One reference, the caller's. @release frees the whole struct with the last one. */
void watched_version_init(struct watched_version *version,
                          void (*release)(struct watched_version *version));
struct watched_version *watched_version_ref(struct watched_version *version);
void watched_version_unref(struct watched_version *version);
DEFINE_CLEANUP(struct watched_version, watched_version_unref)

struct watched_kind {
    const char *what; /* for the log: "configuration" */
    bool is_optional; /* that the file never existed is no fault */
    /* Reads the file; *@version gets one reference. An error with sys_errno means that it could not
     * be read now: the next use tries again, changed or not. Called with the file's mutex held. */
    int (*load)(const char *path, struct watched_version **version, struct error *err);
};

struct watched_file;

/* @path is copied, @kind is static; the file need not exist yet. */
struct watched_file *watched_file_new(const char *path, const struct watched_kind *kind);
void watched_file_free(struct watched_file *file);
DEFINE_CLEANUP(struct watched_file, watched_file_free)

/*
 * The newest good version; release it with watched_version_unref(). UNAVAILABLE with the fault when
 * there has never been one: the file may be fixed before a retry, so the failure must not look
 * final. For an optional file that never existed: 0 and NULL.
 */
_must_check_ int watched_file_get(struct watched_file *file, struct watched_version **version,
                                  struct error *err);

/* For the health report: false, with the reason in @message (caller frees, "" if healthy), when the
 * file in its present state cannot be used. *@since is when that state began. */
bool watched_file_is_healthy(struct watched_file *file, char **message, time_t *since);
const char *watched_file_path(const struct watched_file *file);

/* Notes @fault (NULL: none) of @subject in its condition, and logs what is new. @what as in
 * watched_kind; @has_good: an earlier version of it is in force. The owner's mutex is held. */
void watched_note(struct condition *condition, const char *fault, const char *what,
                  const char *subject, bool has_good);
