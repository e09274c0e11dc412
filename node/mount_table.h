#pragma once

#include "common/base/string_list.h"
#include "common/linux/host_ops.h"

/* Questions to the mount table. */

#define STACKED_MAX 16 /* mounts on one path, left by calls that raced with others' */

/* What a dead file system answers; as in Ceph-CSI these are a condition, not a failure. */
bool errno_is_sickness(int number);

/* Whether the errno of a look at a mount point means that what is mounted there has died for good.
 */
bool errno_is_death(int number);

/* What is at @path. Where what is mounted there has died and cannot be looked at, *@is_dead, the
 * mount table tells. So a mount whose Ceph client was fenced can still be taken off. */
_must_check_ int look_at_mount(struct host *host, const char *path, struct path_facts *facts,
                               bool *is_dead, struct error *err);

/* Whether @name is among @options, "rw,relatime". */
bool mount_option_is_set(const char *options, const char *name);

/* The topmost mount on @path; NULL: none. Borrowed. */
const struct mount_entry *mount_on_top(const struct mount_list *mounts, const char *path);

/* Reads the table into @mounts, and sets *@entry to the topmost mount on @path in there; NULL:
 * none.
 */
_must_check_ int mount_find(struct host *host, const char *path, struct mount_list *mounts,
                            const struct mount_entry **entry, struct error *err);

/* For work in the background: if the table cannot be read, warns "@purpose: ..." and returns false.
 */
bool mounts_list(struct host *host, struct call *call, const char *purpose,
                 struct mount_list *mounts);

/* Targets of mounts that show the same device as that on @path does, without @path itself. For a
 * file system by its device, for a device, @is_block, by its name. */
void mounts_of_same(const struct mount_list *mounts, const char *path, bool is_block,
                    struct string_list *targets);

/* FAILED_PRECONDITION while pods see what is mounted on @path, as mounts_of_same() finds them: what
 * is under them must not go. */
_must_check_ int check_unpublished(struct host *host, const char *path, bool is_block,
                                   struct error *err);

/* @status if what is mounted on @path has other SELinux labels than those among @flags. */
_must_check_ int check_labels(struct host *host, const char *path, const struct string_list *flags,
                              enum status status, struct error *err);

/* FAILED_PRECONDITION: STACKED_MAX were not enough. */
int refuse_stacked(const char *path, struct error *err);
