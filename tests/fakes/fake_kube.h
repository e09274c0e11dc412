#pragma once

#include <stdbool.h>

#include "common/base/text.h"
#include "common/kube/kube_ops.h"

/*
 * An API server in memory behind struct kube_ops: objects by path, resource versions, conflicts,
 * pages, watches with history, and faults. It behaves as the real one does as far as the operations
 * show it: create refuses what exists, update compares the resource version, a change gives the
 * object a new one, a watch begins behind a version and gets 410 when that is forgotten.
 *
 * Simplified: no schemas and no defaults; selectors know "key=value", "key" and, for fields,
 * metadata.name, metadata.namespace and spec.nodeName; an object whose labels leave a watch's
 * selection is modified, not deleted. ".../status" is the object itself; creating ".../eviction"
 * removes it at once unless it is protected.
 *
 * Any thread may call everything; one mutex protects all and is not held while events are given.
 */
struct fake_kube;

struct fake_kube *fake_kube_new(void);
/* No watch may be under way. */
void fake_kube_free(struct fake_kube *fake);
DEFINE_CLEANUP(struct fake_kube, fake_kube_free)
#define _cleanup_fake_kube_ _cleanup_(fake_kube_freep)

/* The process under test: its calls are counted, faults and missing rights strike it. Borrowed;
 * kube_free() of it does nothing. */
struct kube *fake_kube_as_kube(struct fake_kube *fake);
/* Somebody else, who may do everything and is not counted. */
struct kube *fake_kube_as_other(struct fake_kube *fake);

/* Somebody else puts an object there, replacing what was; @json is its text without version. The
 * name is taken from the path. */
void fake_kube_put(struct fake_kube *fake, const char *path, const char *json);
/* The same for a Secret with a Ceph user. */
void fake_kube_put_secret(struct fake_kube *fake, const char *path, const char *user,
                          const char *key);
/* Somebody else removes it; it must be there. */
void fake_kube_drop(struct fake_kube *fake, const char *path);
/* The object, or NULL. Caller frees. */
json_t *fake_kube_get(struct fake_kube *fake, const char *path);
/* All objects, one per line in the order of their paths, without versions and uids. */
void fake_kube_dump(struct fake_kube *fake, struct text *out);

/* --- faults --- */

enum fake_kube_failure {
    FAKE_KUBE_FAIL_BEFORE,  /* UNAVAILABLE; nothing was done */
    FAKE_KUBE_FAIL_AFTER,   /* done, but the answer is lost: DEADLINE_EXCEEDED */
    FAKE_KUBE_CRASH_BEFORE, /* the process dies before the call takes effect */
    FAKE_KUBE_CRASH_AFTER,  /* the process dies when the call has taken effect */
};

/* Lets the @n-th call from now (1 is the next) of the process under test fail, once. After a crash
 * all its calls fail with CANCELLED until fake_kube_recover(). */
void fake_kube_fail_call(struct fake_kube *fake, unsigned n, enum fake_kube_failure failure);
/* As FAKE_KUBE_FAIL_BEFORE with this status. */
void fake_kube_fail_call_with(struct fake_kube *fake, unsigned n, enum status status);
/* All its calls fail with this status until STATUS_OK is set. */
void fake_kube_fail_all(struct fake_kube *fake, enum status status);
bool fake_kube_fault_is_pending(struct fake_kube *fake);
void fake_kube_recover(struct fake_kube *fake);
unsigned fake_kube_calls(struct fake_kube *fake);

/* Takes a right away: "get", "list", "watch", "create", "update", "patch" or "delete" on everything
 * whose path begins with @prefix. Both are borrowed. At most 16; NULL gives all rights back. */
void fake_kube_forbid(struct fake_kube *fake, const char *verb, const char *prefix);

/* Whatever path begins with @prefix is not evicted: 429, as a disruption budget has it. Borrowed;
 * NULL protects nothing any more. */
void fake_kube_protect(struct fake_kube *fake, const char *prefix);

/* Forgets the history: a watch or a page that begins before now gets 410. */
void fake_kube_compact(struct fake_kube *fake);
/* Ends all watches that are under way with UNAVAILABLE. */
void fake_kube_cut_watches(struct fake_kube *fake);
/* Sends a bookmark to all watches that are under way. */
void fake_kube_bookmark(struct fake_kube *fake);
/* Watches under way. */
unsigned fake_kube_watches(struct fake_kube *fake);
