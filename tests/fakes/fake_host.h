#pragma once

#include "common/base/text.h"
#include "common/linux/host_ops.h"
#include "tests/fakes/fake_ceph.h"

/*
 * A machine in memory behind struct host_ops: files, mounts, RBD images mapped by the kernel, by
 * rbd-nbd or exported by qemu-storage-daemon, loop devices, and the programs that make, check and
 * grow file systems. Any call can fail, or cut the process off; see fake_ceph.h for the meaning of
 * the failures and the form of a test.
 *
 * Any thread may call everything here and every operation.
 */
struct fake_host;

/* @ceph (may be NULL): a crash of its process is a crash of this one. */
struct fake_host *fake_host_new(struct fake_ceph *ceph);
void fake_host_free(struct fake_host *fake);
DEFINE_CLEANUP(struct fake_host, fake_host_free)
#define _cleanup_fake_host_ _cleanup_(fake_host_freep)

/* Borrowed. */
struct host *fake_host_as_host(struct fake_host *fake);

/* An image as the kernel would find it: "POOL/IMAGE" or "POOL/NAMESPACE/IMAGE". */
void fake_host_add_image(struct fake_host *fake, const char *spec, uint64_t size_bytes);
void fake_host_resize_image(struct fake_host *fake, const char *spec, uint64_t size_bytes);
/* Puts something on it: "ext4", "gpt" (a partition table), "bytes" that nobody knows, or "remains"
 * of a mkfs that has not written its superblock. "ext4 UUID" is one that was never mounted. */
void fake_host_fill_image(struct fake_host *fake, const char *spec, const char *content);
/* There is no such thing: the kernel's "rbd", "nbd", "ceph" or "selinux", the identifiers of nbd
 * devices ("cookies"), the program "ceph-fuse", a "cgroup" outside of the container, keys of type 2
 * ("aes256k") or the "key rings" that tell so, or devices that can "discard". */
void fake_host_lack(struct fake_host *fake, const char *driver);
void fake_host_add_folder(struct fake_host *fake, const char *path);
void fake_host_add_file(struct fake_host *fake, const char *path, const char *content);
/* A mount that is none of ours. */
void fake_host_add_mount(struct fake_host *fake, const char *target, const char *source);
/* Somebody maps, by the kernel, an image of this name: perhaps of another cluster, or another image
 * that had the name before. Its device is filled with the content that SPEC has here. */
void fake_host_map_foreign(struct fake_host *fake, const char *spec, const char *fsid,
                           const char *image_id);
/* Somebody maps an image by rbd-nbd, in another container. The kernel knows its process as @pid. */
void fake_host_map_foreign_nbd(struct fake_host *fake, const char *spec, const char *cookie,
                               unsigned pid);
/* An rbd-nbd that was started for the image, but has got no device yet; and it gets one. */
void fake_host_start_nbd(struct fake_host *fake, const char *spec, const char *cookie);
void fake_host_connect_nbd(struct fake_host *fake);
/* From now on the driver has a pid namespace of its own: no hostPID. */
void fake_host_hide_pids(struct fake_host *fake);
/* All daemons die. */
void fake_host_kill_daemons(struct fake_host *fake);
/* Those die that are in the container of the driver. */
void fake_host_kill_container(struct fake_host *fake);
/* Every file system that is mounted answers @number, an errno, from now on: the Ceph client under
 * it was fenced. */
void fake_host_fence(struct fake_host *fake, int number);
/* The next @count unmounts fail with EBUSY, unless they are lazy. */
void fake_host_keep_busy(struct fake_host *fake, unsigned count);
/* A program, by its beginning, does not end before it is let go: NULL. Told to end, it does. */
void fake_host_hold_program(struct fake_host *fake, const char *program);
/* Another process has this folder locked; NULL: no more. */
void fake_host_lock_folder(struct fake_host *fake, const char *path);
/* How often a program was run. */
unsigned fake_host_runs(struct fake_host *fake, const char *program);
/* What all file systems have in all. */
void fake_host_set_fs_size(struct fake_host *fake, uint64_t size_bytes);
/* Whether @text was ever among the arguments of a program. */
bool fake_host_saw_argument(struct fake_host *fake, const char *text);

void fake_host_fail_call(struct fake_host *fake, unsigned n, enum fake_failure failure);
bool fake_host_fault_is_pending(struct fake_host *fake);
/* How many faults have struck so far: their calls were told of a failure. */
unsigned fake_host_faults(struct fake_host *fake);
/* Ends a crash and drops a fault that has not struck. */
void fake_host_recover(struct fake_host *fake);

/* Appends everything: files with their content, mounts, devices, daemons, what is on the images. */
void fake_host_dump(struct fake_host *fake, struct text *out);
