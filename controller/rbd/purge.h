#pragma once

#include "common/base/metrics.h"
#include "controller/controller.h"

/*
 * Removal of the data of deleted images, after the call that deleted them has been answered.
 *
 * A deleted image is in RBD's trash; that its data may go is said by a key in the directory object
 * where its name was:
 *
 *   cephzone.purge.POOLID.IMAGEID -> image name
 *
 *   cephzone.purging.POOLID.IMAGEID -> process and time, while the removal begins
 *
 * The first key is written in the same step that removes the name, so that no crash can lose it,
 * and trash that somebody else made is never touched. A background task processes the keys. A
 * parent whose clones still need it stays until they are gone. Nothing here needs the mgr.
 */
/* Removal begins when nothing has been deleted for @quiet_ms, so that calls come before it, but
 * does not wait for ever. 0: at once. */
struct purger *purger_new(int64_t quiet_ms);
void purger_free(struct purger *purger);
/* How much of RBD's background work, purging and flattening, is left. Before @metrics is printed
 * for the last time, @purger must not be freed. */
void purger_register(struct purger *purger, struct tasks *tasks, struct metrics *metrics);

/* Those that a task started with, or of the same user with the key that calls brought since. */
void purger_credentials(const struct controller *controller, const char *cluster_id,
                        const struct credentials *known, struct credentials *credentials);

/* Reads a key of that form; *@image_id is borrowed from it. False if it is none. */
bool purge_key_parse(const char *key, int64_t *pool_id, const char **image_id);

/* Adds the key for a trashed image to what is set with the removal of its name. */
void purge_add(struct strmap *queued, const struct ceph_pool *pool, const char *image_id,
               const char *image_name);

/* Queues what was trashed where no name is given back with it, and starts to remove it. */
_must_check_ int purge_queue(const struct controller *controller, struct call *call,
                             const char *cluster_id, const struct credentials *credentials,
                             struct ceph_pool *directory, const struct strmap *queued,
                             struct error *err);

/* Starts working off the keys in the directories of @directory's pool. */
void purge_start(const struct controller *controller, const char *cluster_id,
                 const struct credentials *credentials, const struct ceph_pool *directory);

/* The same, but only once per directory and process: what an earlier process left. Cheap. */
void purge_resume(const struct controller *controller, const char *cluster_id,
                  const struct credentials *credentials, const struct ceph_pool *directory);
