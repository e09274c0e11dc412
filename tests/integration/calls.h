#pragma once

#include "tests/integration/harness.h"

/* The calls of a volume's life, as one-liners over harness_call(). On failure they return NULL or
 * -1 and set @err. */

struct create_call {
    const char *name;
    const char *pool;
    long long size_bytes;
    const char *cluster_id;      /* NULL: the test cluster's fsid */
    const char *name_prefix;     /* NULL: none */
    const char *owner;           /* NULL: none */
    const char *source_snapshot; /* handles; NULL: none */
    const char *source_volume;
};

/* CreateVolume's request; json_decref(). */
json_t *call_create_request(const struct create_call *create);
/* The handle; caller frees. */
char *call_create(struct driver_process *driver, const struct create_call *create,
                  struct error *err);
char *call_snapshot(struct driver_process *driver, const char *name, const char *source_handle,
                    struct error *err);
int call_delete_snapshot(struct driver_process *driver, const char *handle, struct error *err);
int call_validate(struct driver_process *driver, const char *handle, struct error *err);
/* The new size. */
long long call_expand(struct driver_process *driver, const char *handle, long long size_bytes,
                      struct error *err);

/* ControllerPublishVolume; what it tells NodePublish, "" for nothing, is copied to *@accounts,
 * which the caller frees. */
int call_attach(struct driver_process *driver, const char *handle, const char *node_id,
                char **accounts, struct error *err);
int call_detach(struct driver_process *driver, const char *handle, const char *node_id,
                struct error *err);
