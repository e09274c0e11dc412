/*
 * Which types of cephx keys the kernel's clients of Ceph know. There is no list of them, but the
 * kernel can be asked: its key rings take keys of Ceph ("ceph", from libceph), and it reads one
 * when it is added. Kernels that lack a type say ENOTSUPP to that, before as well as while mapping;
 * those that have it, by their release or by a backport, take the key. Nothing is sent to a
 * cluster.
 */
#include <linux/keyctl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/linux/host_internal.h"
#include "common/linux/kernel_key_types.h"

/* As long as a key of type 1, whatever the type: stable kernels refuse longer ones with EINVAL,
 * which could mean anything, before they look at the type. */
enum { HEADER = 12, SECRET_LENGTH = 16 };

/* Type, time of creation, length, and so many bytes, which are no secret: nobody uses the key. */
static void make_sample(unsigned type, uint8_t sample[HEADER + SECRET_LENGTH])
{
    memset(sample, 0, HEADER + SECRET_LENGTH);
    sample[0] = (uint8_t)type;
    sample[1] = (uint8_t)(type >> 8);
    sample[HEADER - 2] = SECRET_LENGTH;
}

/* Into the ring of this thread, which nobody else sees, and out of it again. */
static bool refuse_key_type(struct host *host, unsigned type)
{
    uint8_t sample[HEADER + SECRET_LENGTH];

    (void)host;
    make_sample(type, sample);
    long key = syscall(SYS_add_key, "ceph", "cephzone-key-type", sample, sizeof(sample),
                       KEY_SPEC_THREAD_KEYRING);
    if (key < 0)
        return errno == KERNEL_ENOTSUPP;
    syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_THREAD_KEYRING);
    return false;
}

enum kernel_key_fault kernel_key_fault(const struct error *err)
{
    switch (err->sys_errno) {
    case KERNEL_ENOTSUPP:
        return KERNEL_KEY_UNKNOWN;
    case EINVAL:
        return KERNEL_KEY_PERHAPS_UNKNOWN;
    case ENOPKG:
        return KERNEL_KEY_WITHOUT_CIPHER;
    default:
        return KERNEL_KEY_FINE;
    }
}

void kernel_key_types_register(struct host_ops *ops)
{
    ops->refuses_key_type = refuse_key_type;
}
