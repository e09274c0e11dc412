#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/metrics.h"
#include "common/kube/kube_ops.h"

/*
 * Events on API objects, which `kubectl describe` shows.
 *
 * Emitting never waits and never fails: a thread of its own writes them. The same event emitted
 * again within ten minutes counts up the event that is there. Each object may have 25 events at
 * once and one more every five minutes (as client-go has it); what is above that, what does not fit
 * the queue and what the server refuses is dropped and counted. A missing right is logged once. Any
 * thread.
 */
struct events;

/* What the event is about; all borrowed. */
struct event_subject {
    const char *api_version; /* "v1" */
    const char *kind;        /* "Node" */
    const char *name_space;  /* "" for objects without; their events are in "default" */
    const char *name;
    const char *uid; /* "" if unknown; for Nodes kubectl looks for the name here */
};

enum event_type { EVENT_NORMAL, EVENT_WARNING };

/* @component and @host (the node; "" without one) are copied; @kube is borrowed until
 * events_free(). */
struct events *events_new(struct kube *kube, const char *component, const char *host);
/* Drops what is queued: events_flush() before if that matters. NULL is fine. */
void events_free(struct events *events);
DEFINE_CLEANUP(struct events, events_free)

/* @reason is one word in CamelCase; the message is truncated to 1024 bytes. @events may be NULL. */
_printf_(5, 6) void events_emit(struct events *events, const struct event_subject *subject,
                                enum event_type type, const char *reason, const char *fmt, ...);

/* Waits until the queue is empty; false if that took longer than @timeout_ms. */
bool events_flush(struct events *events, int64_t timeout_ms);

/* The counter csi_events_dropped_total. Nobody may read it after events_free(). */
void events_register(struct events *events, struct metrics *metrics);
