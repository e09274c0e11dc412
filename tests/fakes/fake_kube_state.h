#pragma once

#include <pthread.h>
#include <stdint.h>

#include "tests/fakes/fake_kube.h"

/* What the files of fake_kube share. */

#define FORBIDDEN_MAX 16

struct fake_object {
    struct fake_object *next; /* by path */
    char *path;
    json_t *item;
};

struct fake_change {
    uint64_t version;
    enum kube_event_kind kind;
    char *path;
    json_t *item;
};

struct fake_client {
    struct kube base;
    struct fake_kube *fake;
    bool is_tested;
};

struct fake_kube {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fake_client tested;
    struct fake_client other;
    struct fake_object *objects;
    struct fake_change *changes;
    size_t change_count;
    uint64_t version;
    uint64_t compacted; /* versions below are forgotten */
    unsigned watches;
    unsigned cuts;      /* how often all watches were ended */
    unsigned bookmarks; /* how often all watches got one */
    unsigned calls;
    unsigned fault_in; /* calls until the fault; 0: none */
    enum fake_kube_failure failure;
    enum status failure_status;
    enum status status_of_all;
    bool crashed;
    struct {
        const char *verb;
        const char *prefix;
    } forbidden[FORBIDDEN_MAX];
    size_t forbidden_count;
    const char *protected; /* beginning of paths; NULL: none */
};

/* What a call is about to do; lock held between the two. */
struct fake_step {
    struct fake_kube *fake;
    bool strikes_after;
    bool crashes_after;
};

/* Takes the lock; on failure it is given back. */
_must_check_ int fake_kube_begin(struct kube *kube, struct call *call, const char *verb,
                                 const char *path, struct fake_step *step, struct error *err);
/* Gives the lock back. @result is what the call has to return if no fault strikes it now. */
_must_check_ int fake_kube_end(struct fake_step *step, int result, struct error *err);

/* The rest with the lock held. */
struct fake_object **fake_kube_find(struct fake_kube *fake, const char *path);
bool fake_kube_is_in(const char *path, const json_t *item, const char *collection,
                     const struct kube_select *select);
int fake_kube_watch(struct kube *kube, struct call *call, const char *path,
                    const struct kube_watch_options *options, struct error *err);
