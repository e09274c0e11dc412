#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "common/base/call.h"
#include "common/base/tasks.h"
#include "common/ceph/ceph_ops.h"
#include "common/ceph/journal.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "common/config/standing_credentials.h"
#include "common/config/takeover_source.h"
#include "common/kube/events.h"
#include "common/topology/domain.h"
#include "common/topology/requirement.h"
#include "common/volume/capability.h"
#include "common/volume/operations.h"
#include "common/volume/size.h"
#include "common/volume/volume_id.h"

/*
 * The controller's logic: what CreateVolume and its like mean, in plain structs. handlers.c
 * translates from and to the wire; main builds the object. What differs between RBD and CephFS is
 * in backend.h. Any thread.
 *
 * Everything is repeatable: a call that was interrupted anywhere is continued by the same call made
 * again.
 */
struct clone_limits {
    unsigned hard_depth;    /* --rbdhardmaxclonedepth: do not build on a longer chain */
    unsigned soft_depth;    /* --rbdsoftmaxclonedepth: flatten in the background from here on */
    unsigned max_snapshots; /* --maxsnapshotsonimage: no further snapshot of an image */
    unsigned min_snapshots; /* --minsnapshotsonimage: begin to detach the oldest from here on */
};

struct controller {
    const struct controller_backend *backend; /* NULL: RBD */
    struct ceph *ceph;
    struct config_file *config;
    struct operations *operations;
    struct tasks *tasks;
    struct purger *purger;
    struct uuid_text process_id;  /* of this life of the driver */
    const char *mapping_path;     /* --clustermapping; NULL: none */
    const char *cephfs_namespace; /* --radosnamespacecephfs; NULL or "": not given */
    atomic_uint *clone_waiters;   /* calls that wait for a CephFS clone to end; NULL: none may */
    const char *instance_id;      /* --instanceid */
    const char *cluster_name;     /* --clustername; "" if not given */
    const char *driver_name;      /* --drivername: stands in topology keys */
    const struct topology_levels *levels; /* --domainlabels; NULL: not given */
    struct usage_cache *usage;            /* may be NULL where no class has places */
    struct takeover_source *takeover;     /* may be NULL */
    struct clone_limits limits;
    struct standing_credentials *standing; /* for calls that carry no secrets; may be NULL */
    struct events *events;                 /* may be NULL */
    const struct node_fencing *fencing;    /* NULL: without --enable-fencing */
};

/* SOURCE_UNKNOWN: the request has a source, but of no kind that is known here. */
enum source_kind { SOURCE_NONE, SOURCE_SNAPSHOT, SOURCE_VOLUME, SOURCE_UNKNOWN };

/* --- volumes --- */

struct create_request {
    char *name;
    struct capacity_range range;
    struct capability_list capabilities;
    struct strmap parameters;
    struct strmap mutable_parameters;
    enum source_kind source_kind;
    char *source_handle; /* NULL without a source */
    struct topology_requirement requirement;
    struct credentials credentials;
};

/* What must hold for any volume: a name, capabilities that can be, a source of a known kind, and
 * one at all if they only read. INVALID_ARGUMENT. */
_must_check_ int create_request_check(const struct create_request *request, struct error *err);

struct volume {
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    uint64_t size_bytes;
    struct strmap context;
    struct strmap segments; /* from where it can be used; empty: from everywhere */
};

/* Caller calls volume_done(). */
_must_check_ int controller_create_volume(const struct controller *controller, struct call *call,
                                          const struct create_request *request,
                                          struct volume *volume, struct error *err);

/* Something named by a handle alone: DeleteVolume, DeleteSnapshot, ControllerGetVolume. */
struct handle_request {
    char *handle;
    struct credentials credentials;
};

_must_check_ int controller_delete_volume(const struct controller *controller, struct call *call,
                                          const struct handle_request *request, struct error *err);

struct attach_request {
    char *handle;
    char *node_id;
    struct volume_capability capability; /* type ACCESS_TYPE_NONE if not given */
    struct strmap context;               /* of the volume */
    struct credentials credentials;      /* none, unless the PersistentVolume names a Secret */
};

/*
 * Nothing is attached before NodeStage. With credentials, of the request or standing ones, @context
 * gets what NodePublish needs to know: which ServiceAccounts may use the volume, if that is
 * restricted; NOT_FOUND then for a volume that does not exist. 1 RT and the metadata; without
 * credentials none.
 */
_must_check_ int controller_publish_volume(const struct controller *controller, struct call *call,
                                           const struct attach_request *request,
                                           struct strmap *context, struct error *err);

struct detach_request {
    char *handle;
    char *node_id; /* "": not said; what nodes have written stays then */
    struct credentials credentials;
};

/*
 * Removes what the node has written of itself to the volume; with --enable-fencing a client on a
 * node that is out of service is fenced before. A volume that does not exist, or that cannot be
 * looked at for want of credentials, is success. As many RT as publishing, and a change.
 */
_must_check_ int controller_unpublish_volume(const struct controller *controller, struct call *call,
                                             const struct detach_request *request,
                                             struct error *err);

struct validate_request {
    char *handle;
    struct capability_list capabilities;
    struct strmap parameters;
    struct credentials credentials;
};

/* *@refusal (caller frees) is NULL when all is supported, else the reason. */
_must_check_ int controller_validate_volume(const struct controller *controller, struct call *call,
                                            const struct validate_request *request, char **refusal,
                                            struct error *err);

struct expand_request {
    char *handle;
    struct capacity_range range;
    struct volume_capability capability; /* type ACCESS_TYPE_NONE if not given */
    struct credentials credentials;
};

struct expansion {
    uint64_t size_bytes;
    bool node_expansion_required;
};

_must_check_ int controller_expand_volume(const struct controller *controller, struct call *call,
                                          const struct expand_request *request,
                                          struct expansion *expansion, struct error *err);

struct modify_request {
    char *handle;
    struct strmap mutable_parameters;
    struct credentials credentials;
};

_must_check_ int controller_modify_volume(const struct controller *controller, struct call *call,
                                          const struct modify_request *request, struct error *err);

/* ControllerReclaimSpace of csi-addons. A volume that is in use stays as it is, which is success:
 * its node can do it. UNIMPLEMENTED for volumes that hold no more than they need. ABORTED if the
 * volume cannot be found, as Ceph-CSI has it: the caller tries again. */
_must_check_ int controller_reclaim_space(const struct controller *controller, struct call *call,
                                          const struct handle_request *request, struct error *err);

/* How a volume is doing; @message says why when it is not well. */
struct volume_state {
    struct volume volume;
    bool abnormal;
    char *message;
};

/* ControllerGetVolume and ControllerGetVolumeHealth. NOT_FOUND if there is no such volume; one that
 * is recorded and missing is abnormal. */
_must_check_ int controller_get_volume(const struct controller *controller, struct call *call,
                                       const struct handle_request *request,
                                       struct volume_state *state, struct error *err);

/* GetCapacity. */
struct capacity_request {
    struct strmap parameters; /* of the class; may be empty */
    struct strmap segments;   /* of the place; empty: everywhere */
};

struct capacity {
    uint64_t available_bytes;
    uint64_t maximum_bytes; /* of one volume */
    uint64_t minimum_bytes;
    bool has_maximum;
};

/* No RT while the figures are fresh. A place that no pool serves has no capacity. */
_must_check_ int controller_get_capacity(const struct controller *controller, struct call *call,
                                         const struct capacity_request *request,
                                         struct capacity *capacity, struct error *err);

/* --- snapshots --- */

struct snapshot_request {
    char *name;
    char *source_handle;
    struct strmap parameters;
    struct credentials credentials;
};

struct snapshot {
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    char source_handle[VOLUME_ID_LENGTH_MAX + 1];
    char group_handle[VOLUME_ID_LENGTH_MAX + 1]; /* "" if it belongs to none */
    uint64_t size_bytes;
    struct timespec created;
    bool ready;
};

_must_check_ int controller_create_snapshot(const struct controller *controller, struct call *call,
                                            const struct snapshot_request *request,
                                            struct snapshot *snapshot, struct error *err);

_must_check_ int controller_delete_snapshot(const struct controller *controller, struct call *call,
                                            const struct handle_request *request,
                                            struct error *err);

/* GetSnapshot: NOT_FOUND if there is none. */
_must_check_ int controller_get_snapshot(const struct controller *controller, struct call *call,
                                         const struct handle_request *request,
                                         struct snapshot *snapshot, struct error *err);

/* --- listings --- */

struct list_request {
    int32_t max_entries; /* 0: as many as fit into a page */
    bool only_abnormal;  /* volumes: only those that are not well */
    char *token;
    char *source_handle;   /* snapshots: only those of this volume */
    char *snapshot_handle; /* snapshots: only this one */
    struct credentials credentials;
};

struct volume_list {
    struct volume_state *items;
    size_t count;
    char *next_token; /* NULL at the end */
};

struct snapshot_list {
    struct snapshot *items;
    size_t count;
    char *next_token;
};

_must_check_ int controller_list_volumes(const struct controller *controller, struct call *call,
                                         const struct list_request *request,
                                         struct volume_list *list, struct error *err);
_must_check_ int controller_list_snapshots(const struct controller *controller, struct call *call,
                                           const struct list_request *request,
                                           struct snapshot_list *list, struct error *err);

/* --- group snapshots --- */

struct group_request {
    char *name;                 /* create */
    char *handle;               /* delete, get */
    struct string_list members; /* create: source volumes; delete, get: snapshots */
    struct strmap parameters;
    struct credentials credentials;
};

struct group_snapshot {
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    struct snapshot *snapshots;
    size_t count;
    struct timespec created;
    bool ready;
};

_must_check_ int controller_create_group_snapshot(const struct controller *controller,
                                                  struct call *call,
                                                  const struct group_request *request,
                                                  struct group_snapshot *group, struct error *err);
_must_check_ int controller_delete_group_snapshot(const struct controller *controller,
                                                  struct call *call,
                                                  const struct group_request *request,
                                                  struct error *err);
_must_check_ int controller_get_group_snapshot(const struct controller *controller,
                                               struct call *call,
                                               const struct group_request *request,
                                               struct group_snapshot *group, struct error *err);

void create_request_done(struct create_request *request);
void handle_request_done(struct handle_request *request);
void attach_request_done(struct attach_request *request);
void detach_request_done(struct detach_request *request);
void validate_request_done(struct validate_request *request);
void expand_request_done(struct expand_request *request);
void modify_request_done(struct modify_request *request);
void capacity_request_done(struct capacity_request *request);
void snapshot_request_done(struct snapshot_request *request);
void list_request_done(struct list_request *request);
void group_request_done(struct group_request *request);
void volume_done(struct volume *volume);
void volume_state_done(struct volume_state *state);
/* After a failure to examine the volume: one that is missing is abnormal, and that is no failure.
 */
_must_check_ int volume_state_conclude(struct volume_state *state, struct error *err);
void volume_list_done(struct volume_list *list);
void snapshot_list_done(struct snapshot_list *list);
void group_snapshot_done(struct group_snapshot *group);
