#pragma once

#include "common/kube/kube_ops.h"
#include "common/kube/objects/kube_objects.h"

/* What all users of struct kube_ops need: paths, whole lists, and the time. */

/* NULL is fine. */
void kube_free(struct kube *kube);
DEFINE_CLEANUP(struct kube, kube_free)
void kube_page_done(struct kube_page *page);

/* The parts of a path. */
struct kube_location {
    const char *api;         /* "v1", "storage.k8s.io/v1" */
    const char *resource;    /* "nodes" */
    const char *name_space;  /* NULL: not namespaced, or all namespaces */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* "status"; NULL: the object itself */
};

/*
 * *@path, which the caller frees, is "/api/v1/namespaces/NS/pods/NAME/status" and the like. Fails
 * with INVALID_ARGUMENT if namespace or name are not names of Kubernetes (letters, digits, "-._:",
 * at most 253 bytes): what comes from a peer cannot lead elsewhere. Pure.
 */
_must_check_ int kube_path(const struct kube_location *location, char **path, struct error *err);

/* The path of an object of a kind, or with @name NULL of the collection. */
_must_check_ int kube_object_path(enum kube_kind kind, const char *name_space, const char *name,
                                  char **path, struct error *err);

/* Receives a list. On a failure of @item the list ends with that error. */
struct kube_list_sink {
    /* Before the first item; and again when the list had to start over because it took so long
     * that the server forgot the beginning: then drop what came. */
    void (*start)(void *object);
    /* @item is borrowed; json_incref() keeps it, on this thread. */
    int (*item)(void *object, json_t *item, struct error *err);
    void *object;
};

/*
 * Lists a collection page by page. *@resource_version (caller frees) is where a watch continues.
 * Memory is bounded by one page; a page whose objects are too large is asked for in parts. Starts
 * over at most KUBE_LIST_RESTARTS times; the last time it asks for one page, which cannot expire.
 */
#define KUBE_PAGE_ITEMS 100
#define KUBE_LIST_RESTARTS 3
_must_check_ int kube_list(struct kube *kube, struct call *call, const char *path,
                           const struct kube_select *select, const struct kube_list_sink *sink,
                           char **resource_version, struct error *err);

/* Which objects of a kind. */
struct kube_object_query {
    enum kube_kind kind;
    const char *name_space; /* NULL: of all */
    struct kube_select select;
    const char *driver; /* only those of the driver, see kube_object_driver(); NULL: all */
};

/* As struct kube_list_sink. @object, a struct kube_node and so on, is freed afterwards, but for
 * members that were moved out of it. */
struct kube_object_sink {
    void (*start)(void *context);
    int (*object)(void *context, void *object, struct error *err);
    void *context;
};

/* kube_list() with the objects decoded one at a time. */
_must_check_ int kube_list_objects(struct kube *kube, struct call *call,
                                   const struct kube_object_query *query,
                                   const struct kube_object_sink *sink, struct error *err);

/* Now, as Kubernetes writes times: "2026-11-16T06:05:44Z", for Leases with six more digits. Caller
 * frees. */
char *kube_time_now(bool with_micros);
