#pragma once

#include "node/volumes.h"

/* Checks of what a call brings, before anything is touched. */

/* What a node keeps beside a staged RBD volume. No volume can have this handle, of either type. */
#define IMAGE_META_FILE "image-meta.json"

/* INVALID_ARGUMENT unless @path, the field @name, is absolute and free of "..", "." and control
 * characters, and is not too long. */
_must_check_ int node_check_path(const char *name, const char *path, struct error *err);
/* INVALID_ARGUMENT unless it can be the name of a file; missing is another message. */
_must_check_ int node_check_handle(const char *handle, struct error *err);
/* Both, of a call that names a volume and the path @name. */
_must_check_ int node_check_target(const char *handle, const char *name, const char *path,
                                   struct error *err);
/* Refuses inline volumes, which live and die with a pod, by the context that kubelet sends. */
_must_check_ int node_check_lifecycle(const struct strmap *context, struct error *err);
/* One type, a known mode, flags that are one option each. */
_must_check_ int node_check_capability(const struct node_volumes *volumes,
                                       const struct volume_capability *capability,
                                       struct error *err);

/* Whether the volume is to be read only: by its access mode or by its mount flags. */
bool node_reads_only(const struct volume_capability *capability);

/* *@has_group is false if no group is to have the volume. INVALID_ARGUMENT if it is no number. */
_must_check_ int node_parse_group(const struct volume_capability *capability, gid_t *group,
                                  bool *has_group, struct error *err);

/* Before a volume is opened in Ceph: *@is_static if its context says where it is, not the journal.
 * INVALID_ARGUMENT without credentials, FAILED_PRECONDITION for encrypted volumes. */
_must_check_ int node_check_stage(const struct stage_request *request, bool *is_static,
                                  struct error *err);
/* Before a volume is mapped or mounted that nobody uses here: whether it is pinned to a place that
 * this node does not serve, see node_info_check_place(). No round trip unless it is. */
_must_check_ int node_check_place(const struct node_volumes *volumes, struct call *call,
                                  const struct stage_request *request, struct error *err);
/* FAILED_PRECONDITION. */
int node_refuse_encrypted(struct error *err);

/* Whether the context says that @key is true; "false" if it says nothing. INVALID_ARGUMENT. */
_must_check_ int node_context_is_true(const struct strmap *context, const char *key, bool *value,
                                      struct error *err);

/* Makes @call the only one for the volume on this node. */
_must_check_ int node_begin(const struct node_volumes *volumes, const char *handle,
                            struct call *call, struct operation *operation, struct error *err);

/* NOT_FOUND. */
int node_volume_not_there(const char *handle, const char *path, struct error *err);
