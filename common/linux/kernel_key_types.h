#pragma once

#include <errno.h>

#include "common/base/error.h"

/* In the kernel's own list of errors, which reaches programs where it should not: what old clients
 * of Ceph say to a key whose type they do not know. */
#define KERNEL_ENOTSUPP 524

enum kernel_key_fault {
    KERNEL_KEY_FINE,            /* something else */
    KERNEL_KEY_UNKNOWN,         /* the kernel does not know the type of the key */
    KERNEL_KEY_PERHAPS_UNKNOWN, /* the same, or another thing that it does not like */
    KERNEL_KEY_WITHOUT_CIPHER,  /* it knows the type, and has no cipher for it */
};

/* What the failure of a mapping or a mount says about the key. Of CephFS it does not tell that a
 * cipher is missing. Pure. */
enum kernel_key_fault kernel_key_fault(const struct error *err);
