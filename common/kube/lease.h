#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/kube/kube_ops.h"

/*
 * Leader election by a Lease object, as client-go does it, so that it may be shared with programs
 * that use that: of all that compete for the lease, one holds it and renews it. Who wants it
 * watches the holder's renewals on its own clock and takes over when none came for the duration
 * that the holder promised; clocks of different machines are never compared.
 *
 * One thread of its own, which calls gained and lost in turn. After gained the holder may act until
 * lost is called; lost comes at the latest renew_deadline_ms after the last renewal was sent, which
 * is before anybody else can take over. Whoever is about to do something that only the leader may
 * do asks lease_is_held() first, which is right even while the thread is stuck.
 */
struct lease;

struct lease_options {
    const char *name_space; /* all strings are copied */
    const char *name;
    const char *identity;      /* who we are: the pod's name; a random part is added */
    const char *annotation;    /* key of the holder's message to the others; NULL: none */
    int64_t duration_ms;       /* 0: 15000; whole seconds */
    int64_t renew_deadline_ms; /* 0: 10000; must be less than the duration */
    int64_t retry_ms;          /* 0: 5000; must be less than the deadline */
    /* Both may be NULL. Must return soon: the renewals wait. */
    void (*gained)(void *object);
    /* Must have stopped whatever gained began when it returns. */
    void (*lost)(void *object, const char *reason);
    void *object;
};

/* @kube is borrowed until lease_free(). INVALID_ARGUMENT when names or times make no sense. */
_must_check_ int lease_new(struct kube *kube, const struct lease_options *options,
                           struct lease **lease, struct error *err);
/* Stops; calls lost if it was held, then gives the lease back so that the next one need not wait.
 * Not from a callback. NULL is fine. */
void lease_free(struct lease *lease);
DEFINE_CLEANUP(struct lease, lease_free)

/* Any thread, no I/O. */
bool lease_is_held(struct lease *lease);
/* The same as a metric_read_fn. */
double lease_read_held(void *lease);
/* Who holds it, as far as we know, "" for nobody. Caller frees. */
char *lease_holder(struct lease *lease);

/* Sets the holder's message, which the next renewal, coming at once, writes. A new holder keeps the
 * last one's until it sets its own. Any thread, no I/O. */
void lease_set_message(struct lease *lease, const char *message);
/* The holder's message when the lease was last seen, "" for none. Caller frees. */
char *lease_message(struct lease *lease);
