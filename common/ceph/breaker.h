#pragma once

#include <stdint.h>
#include <time.h>

#include "common/base/error.h"
#include "common/ceph/ceph.h"

/*
 * Modules of the managers that do not answer. A manager runs the commands to one module one after
 * the other: where one hangs, all after it do. Once a module has been silent for long enough, its
 * callers are told so at once; one of them in a while is let through to find out whether it answers
 * again. Any answer ends that, also one that comes too late for its caller.
 *
 * Any thread.
 */
struct breaker;

struct breaker_options {
    int64_t silence_ms; /* with callers waiting, after which a module counts as hanging; 0: 10 s */
    int64_t retry_ms;   /* from one that is let through, or gives up, to the next; 0: 10 s */
};

struct breaker *breaker_new(const struct breaker_options *options);
void breaker_free(struct breaker *breaker);

/* A command's module in one cluster; borrowed, lives as long as the breaker. */
struct breaker_module;
struct breaker_module *breaker_find(struct breaker *breaker, const char *cluster_id,
                                    const char *command);

/* Before a command is sent. UNAVAILABLE while the module hangs. */
_must_check_ int breaker_enter(struct breaker_module *module, struct error *err);
/* When it was answered, at any time after. */
void breaker_answered(struct breaker_module *module);
/* When a caller who asked at @asked_ms (clock_monotonic_ms()) waits no longer. */
void breaker_left(struct breaker_module *module, int64_t asked_ms);

/* Those that hang, as ceph_report() does with connections. */
void breaker_report(struct breaker *breaker, ceph_report_fn *each, void *object);
unsigned breaker_count(struct breaker *breaker);
