#pragma once

#include "common/volume/locate.h"
#include "node/volumes.h"

/* The image of a volume that is to be staged, found in the journal or, for a static volume, by the
 * names in its context. */
struct node_image {
    struct located located; /* of a volume in the journal */
    struct session session; /* of a static one */
    struct ceph_pool *own_pool;
    struct ceph_cluster *cluster; /* borrowed from one of the above, as are the following */
    struct ceph_pool *pool;
    const struct cluster_config *config;
    const char *name;
    struct image_mirroring mirroring; /* after node_image_check_original() */
};

/* NOT_FOUND if there is no such volume; FAILED_PRECONDITION for encrypted ones. Caller calls
 * node_image_close(). */
_must_check_ int node_image_open(const struct node_volumes *volumes, struct call *call,
                                 const struct stage_request *request, struct node_image *image,
                                 struct error *err);
void node_image_close(struct node_image *image);
#define _cleanup_node_image_ _cleanup_(node_image_close)

/* FAILED_PRECONDITION if the image is the copy that rbd-mirror keeps of another cluster's. 2 RT. */
_must_check_ int node_image_check_original(struct call *call, struct node_image *image,
                                           struct error *err);

/*
 * Before a volume for one writer is mapped: waits, for a while, until no other client has the image
 * open, and fails with FAILED_PRECONDITION naming those that have, or that have locked it. The
 * daemons of rbd-mirror do not count.
 */
_must_check_ int node_image_claim(const struct node_volumes *volumes, struct call *call,
                                  struct node_image *image, struct error *err);

/* Writes this node's address and user to the image's metadata, where they are not yet, so that it
 * can be fenced off if the node is lost: before anything is mapped. */
_must_check_ int node_image_record(const struct node_volumes *volumes, struct call *call,
                                   struct node_image *image, const struct stage_request *request,
                                   const struct strmap *metadata, struct error *err);
