#pragma once

#include "tests/fakes/fake_ceph.h"

/*
 * A manager and monitors that know CephFS, for a fake cluster: file systems, subvolume groups,
 * subvolumes with quotas, snapshots, clones and metadata, as Ceph 16.2 answers, and, if asked for,
 * 'fs quiesce' as of 19.2. What it holds is part of fake_ceph_dump().
 *
 * Any thread. Free it after the fake.
 */
struct fake_subvolumes;

/* Answers the commands of @fake from now on. */
struct fake_subvolumes *fake_subvolumes_new(struct fake_ceph *fake);
void fake_subvolumes_free(struct fake_subvolumes *subvolumes);

/* With one subvolume group. The metadata pool must have been added to the cluster. */
void fake_subvolumes_add_filesystem(struct fake_subvolumes *subvolumes, const char *name,
                                    int64_t id, int64_t metadata_pool_id, const char *group);

/* A data pool with that much room; the first of a file system is its default. One without any
 * takes whatever name a subvolume asks for. */
void fake_subvolumes_add_data_pool(struct fake_subvolumes *subvolumes, const char *fs,
                                   const char *name, int64_t id, uint64_t room);
void fake_subvolumes_set_room(struct fake_subvolumes *subvolumes, const char *fs, const char *pool,
                              uint64_t room);
/* As "osd pool application set POOL cephfs KEY VALUE". */
void fake_subvolumes_tag_pool(struct fake_subvolumes *subvolumes, const char *fs, const char *pool,
                              const char *key, const char *value);

/* All subvolumes that there are have that much data. */
void fake_subvolumes_set_used(struct fake_subvolumes *subvolumes, uint64_t bytes);
/* How many times a clone is said to be pending before it is complete; 1 at first. */
void fake_subvolumes_set_clone_pace(struct fake_subvolumes *subvolumes, unsigned questions);
/* The next @count clones fail. */
void fake_subvolumes_fail_clones(struct fake_subvolumes *subvolumes, unsigned count);
/* The next @count clones are not begun, as from Ceph 18.2 on while all threads of the manager copy.
 */
void fake_subvolumes_refuse_clones(struct fake_subvolumes *subvolumes, unsigned count);
/* As a manager leaves clones if it dies when it has just begun them: the next takes what there is
 * for subvolumes of an old kind. */
void fake_subvolumes_break_clones(struct fake_subvolumes *subvolumes);
/* The next @count clones are lost: as a manager leaves them if it dies before it has noted the
 * copy. They are pending for ever, and cannot be cancelled or removed. */
void fake_subvolumes_lose_clones(struct fake_subvolumes *subvolumes, unsigned count);
/* Each snapshot has @count marks of copies that have ended: as a manager leaves one if it dies at
 * the end of a copy. */
void fake_subvolumes_set_orphans(struct fake_subvolumes *subvolumes, unsigned count);
/* Clones are said to be pending, not in progress, until they are complete. */
void fake_subvolumes_queue_clones(struct fake_subvolumes *subvolumes);
/* 'fs quiesce' is known from now on. @expired: the pause has ended when it is released. */
void fake_subvolumes_allow_quiesce(struct fake_subvolumes *subvolumes, bool expired);

/* Makes, grows or removes something behind the driver's back: sends a command as another client.
 * @command is JSON without vol_name and group_name, which are those of the first file system.
 * Returns 0 or a negative errno. */
int fake_subvolumes_command(struct fake_subvolumes *subvolumes, const char *command);
