#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/call.h"
#include "common/base/error.h"

/*
 * Everything the driver asks of the Kubernetes API server, as one table of functions. The real one
 * is made by kube_client_new() in kube_client.h; tests/fakes/fake_kube.c keeps objects in memory
 * and can fail any call.
 *
 * Common rules. Any thread; calls block. A path is what stands behind the server's address
 * ("/api/v1/nodes/n1"); kube_path() in kube.h makes it from parts and checks them. @call gives
 * deadline and cancellation and receives the stage; it is never NULL. Objects that are returned
 * belong to the caller (json_decref()); those passed in are borrowed.
 *
 * Errors name the verb and the path and carry the server's own message. Their status:
 *
 *   NOT_FOUND            404
 *   ALREADY_EXISTS       409 of a create
 *   ABORTED              any other 409: the object has changed meanwhile, read it again
 *   PERMISSION_DENIED    403: the service account lacks a right
 *   UNAUTHENTICATED      401: the token is not, or no longer, accepted
 *   OUT_OF_RANGE         410: the resource version or continue token is too old, list again
 *   INVALID_ARGUMENT     400, 413, 422
 *   UNAVAILABLE          no connection, 429, 502, 503: worth trying again
 *   DEADLINE_EXCEEDED    no answer in time, 504: a write may or may not have happened
 */
struct kube_ops;

struct kube {
    const struct kube_ops *ops;
};

/* Which objects of a collection; NULL members select all. */
struct kube_select {
    const char *labels; /* "app=x,zone in (a,b)" */
    const char *fields; /* "metadata.name=n1" */
};

struct kube_list_options {
    struct kube_select select;
    unsigned limit;       /* objects per page; 0: all in one */
    const char *position; /* where the page begins, from the last one; NULL: at the start */
};

/* One page of a collection; kube_page_done() frees. */
struct kube_page {
    json_t *items; /* array */
    char *resource_version;
    char *next; /* position of the next page; NULL on the last one */
};

enum kube_event_kind { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED, KUBE_BOOKMARK };

/* Something happened to @item, which is borrowed. A bookmark's item has a resource version and
 * nothing else. A failure ends the watch with that error. */
typedef int kube_event_fn(void *object, enum kube_event_kind kind, json_t *item, struct error *err);

struct kube_watch_options {
    struct kube_select select;
    const char *resource_version; /* events behind this one */
    unsigned timeout_s;           /* the server ends the watch after that; at least 1 */
    kube_event_fn *event;
    void *object;
};

/* What must be true of the object to be deleted; NULL members are not compared. */
struct kube_preconditions {
    const char *uid;
    const char *resource_version;
};

struct kube_ops {
    int (*get)(struct kube *kube, struct call *call, const char *path, json_t **item,
               struct error *err);
    /* @page is zero. Use kube_list(), which walks over all pages. A page that is too large for us
     * (16 MiB) fails with sys_errno EMSGSIZE. */
    int (*list_page)(struct kube *kube, struct call *call, const char *path,
                     const struct kube_list_options *options, struct kube_page *page,
                     struct error *err);
    /* Returns 0 when the server ended the watch in its regular way (continue at the last resource
     * version seen), -1 otherwise; OUT_OF_RANGE when only a new list helps. */
    int (*watch)(struct kube *kube, struct call *call, const char *path,
                 const struct kube_watch_options *options, struct error *err);
    /* @path is the collection's. @created may be NULL, as may @result below. Tried again only when
     * the server certainly has not seen it. */
    int (*create)(struct kube *kube, struct call *call, const char *path, const json_t *item,
                  json_t **created, struct error *err);
    /* Replaces the object; with metadata.resourceVersion in @item only if it is still that one. */
    int (*update)(struct kube *kube, struct call *call, const char *path, const json_t *item,
                  json_t **result, struct error *err);
    /* A JSON merge patch: null removes a key. */
    int (*patch)(struct kube *kube, struct call *call, const char *path, const json_t *changes,
                 json_t **result, struct error *err);
    /* @preconditions may be NULL. Dependents go in the background. */
    int (*remove)(struct kube *kube, struct call *call, const char *path,
                  const struct kube_preconditions *preconditions, struct error *err);
    void (*free)(struct kube *kube);
};
