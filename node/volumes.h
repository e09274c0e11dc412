#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/call.h"
#include "common/ceph/ceph_ops.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "common/config/standing_credentials.h"
#include "common/linux/host_ops.h"
#include "common/linux/host_work.h"
#include "common/linux/io_check.h"
#include "common/linux/mapper.h"
#include "common/rpc/server.h"
#include "common/volume/capability.h"
#include "common/volume/operations.h"
#include "common/volume/size.h"
#include "node/read_affinity.h"

/*
 * The node's logic for volumes, in plain structs: mapping an image with a file system on it, or
 * mounting a directory of CephFS, and where pods see it. What differs between the two is behind
 * @backend. node_handlers.c translates from and to the wire; main builds the object. Any thread;
 * one call at a time per volume.
 *
 * Nothing that counts is kept in memory. What is staged is read from the mount table, the mappers,
 * image-meta.json or, for CephFS, nodestage-HANDLE.json, so that a driver killed at any step goes
 * on where its previous run stopped.
 */
struct node_backend;
struct node_info;

/* Flags that are for CephFS alone. */
struct cephfs_settings {
    const char *mount_info_dir;  /* where nodestage-HANDLE.json are */
    const char *rados_namespace; /* --radosnamespacecephfs; NULL: none */
    const char *kernel_options;  /* --kernelmountoptions, --fusemountoptions; NULL: none */
    const char *fuse_options;
    bool force_kernel;    /* --forcecephkernelclient */
    int64_t fuse_wait_ms; /* how long ceph-fuse may take to write back what it holds */
};

struct node_volumes {
    struct node_info *info; /* for NodeGetInfo */
    const struct node_backend *backend;
    struct ceph *ceph;
    struct config_file *config;
    struct operations *operations;
    struct mapper_host mappers;
    struct io_checks *io_checks;
    struct host_works *works;              /* programs that outlive their call */
    struct kube *kube;                     /* NULL: no API server */
    struct standing_credentials *standing; /* for calls without secrets; NULL: none */
    struct staged_users *users;            /* likewise, but never NULL */
    struct pod_limits *limits;             /* that this process has set; never NULL */
    const char *driver_name;
    const char *node_id;
    const char *instance_id;
    const char *mapping_path;                  /* --clustermapping; NULL: none */
    const struct read_affinity *read_affinity; /* NULL: none */
    const char *default_mounter; /* --mounter: for classes that name none; "": what there is */
    bool enforces_places;        /* --enforce-topology; then @info is there */
    int64_t watcher_wait_ms;     /* how long another client may take to let go of an image */
    int64_t device_wait_ms;      /* how long a device may take to notice that its image has grown */
    struct cephfs_settings cephfs;
};

struct stage_request {
    char *handle;
    char *staging_path;
    struct volume_capability capability;
    struct strmap context;
    struct credentials credentials;
};

_must_check_ int node_stage_volume(const struct node_volumes *volumes, struct call *call,
                                   const struct stage_request *request, struct error *err);

_must_check_ int node_unstage_volume(const struct node_volumes *volumes, struct call *call,
                                     const char *handle, const char *staging_path,
                                     struct error *err);

struct publish_request {
    char *handle;
    char *staging_path;
    char *target_path;
    struct volume_capability capability;
    bool read_only;
    struct strmap context;
    struct strmap publish_context;  /* from ControllerPublish */
    struct credentials credentials; /* unset, as a rule */
};

_must_check_ int node_publish_volume(const struct node_volumes *volumes, struct call *call,
                                     const struct publish_request *request, struct error *err);

_must_check_ int node_unpublish_volume(const struct node_volumes *volumes, struct call *call,
                                       const char *handle, const char *target_path,
                                       struct error *err);

struct volume_stats {
    bool has_usage;
    bool has_inodes;
    struct usage usage;
    bool is_abnormal;
    char *message;
};

/* Caller calls volume_stats_done(). */
_must_check_ int node_get_volume_stats(const struct node_volumes *volumes, struct call *call,
                                       const char *handle, const char *volume_path,
                                       struct volume_stats *stats, struct error *err);

/* Of NodeGetVolumeHealth: both paths may be "", and need not be those of a volume. */
struct health_request {
    const char *handle;
    const char *publish_path;
    const char *staging_path;
};

/* How the volume is doing on this node, wherever it is mounted: what the request names comes first.
 * NOT_FOUND if it is nowhere. Caller calls volume_stats_done(). */
_must_check_ int node_get_volume_health(const struct node_volumes *volumes, struct call *call,
                                        const struct health_request *request,
                                        struct volume_stats *stats, struct error *err);

struct node_expand_request {
    char *handle;
    char *volume_path;
    struct capacity_range range;
    struct credentials credentials; /* empty if not given */
};

_must_check_ int node_expand_volume(const struct node_volumes *volumes, struct call *call,
                                    const struct node_expand_request *request, uint64_t *size_bytes,
                                    struct error *err);

/*
 * NodeReclaimSpace of csi-addons: tells the device of a staged volume which blocks its file system
 * does not use, so that Ceph frees them. Piece by piece, so that a call that was given up ends
 * soon; what is done stays so. UNIMPLEMENTED, after which nobody tries again, for block volumes,
 * for those that several nodes may have, and where file system or device cannot do it.
 */
struct reclaim_request {
    char *handle;
    char *staging_path;
    struct volume_capability capability; /* type ACCESS_TYPE_NONE if not given */
};

_must_check_ int node_reclaim_space(const struct node_volumes *volumes, struct call *call,
                                    const struct reclaim_request *request, struct error *err);

/* At start, before the first call: removes what previous runs left unfinished and nobody uses, and
 * logs which volumes have lost the process that served them, and whether those that will be served
 * by one keep it when this container ends. */
void node_recover(const struct node_volumes *volumes, struct call *call);

/* After that, beside the calls: gives a new process to such volumes, where this needs Ceph. Returns
 * how many still have none and may get one when it is tried again. */
size_t node_revive(const struct node_volumes *volumes, struct call *call);

/* From time to time: what Ceph says of published volumes may have changed, such as limits on their
 * I/O. */
void node_refresh(const struct node_volumes *volumes, struct call *call);

/*
 * Likewise: records this node as a client of every volume that is staged here, whoever staged it,
 * as NodeStageVolume does, so that a takeover knows whom to fence. Volumes in @recorded (values "")
 * are skipped, those that are done with are added. Returns how many may be recorded when it is
 * tried again. Needs Ceph, and a user: see staged_user_find().
 */
size_t node_record_clients(const struct node_volumes *volumes, struct call *call,
                           struct strmap *recorded);

void stage_request_done(struct stage_request *request);
void publish_request_done(struct publish_request *request);
void node_expand_request_done(struct node_expand_request *request);
void reclaim_request_done(struct reclaim_request *request);
/* A failure to look at the volume: 0, and its condition, if it means that the file system is dead
 * or hangs; else -1. */
_must_check_ int volume_stats_failed(struct volume_stats *stats, struct error *err);
/* Makes @why the condition of the volume; clears it. */
void volume_stats_set_abnormal(struct volume_stats *stats, struct error *why);
void volume_stats_done(struct volume_stats *stats);

/* The Node service over @volumes, which is borrowed. */
struct rpc_service node_service(struct node_volumes *volumes);
/* ReclaimSpaceNode of csi-addons, likewise. */
struct rpc_service node_reclaim_service(struct node_volumes *volumes);
