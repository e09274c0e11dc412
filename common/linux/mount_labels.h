#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/linux/host_ops.h"

/*
 * Mount options by which SELinux labels all files of a mount: context=, fscontext=, defcontext= and
 * rootcontext=. A label has commas between its categories, and is in quotes then. It belongs to the
 * file system, so that all mounts of one have the same.
 */

/* How long the name is, with its '='; 0: it is another option. */
size_t mount_label_name(const char *option);

/* Whether two of these options mean the same. The kernel shows a label in words of its own: sorted
 * categories, "c1.c3" for "c1,c2,c3", quotes only where they are needed. */
bool mount_label_is_same(const char *a, const char *b);

/* Whether there is one among them. */
bool mount_labels_are_among(const struct string_list *options);

/*
 * Appends @from to @to, without labels where the kernel has no SELinux: it would refuse them, and
 * mount(8) leaves them out as well.
 */
_must_check_ int mount_labels_filter(struct host *host, const struct string_list *from,
                                     struct string_list *to, struct error *err);

/* @status if @options, those of a mounted file system, have other labels than @asked, unless the
 * kernel has no SELinux. */
_must_check_ int mount_labels_check(struct host *host, const char *options,
                                    const struct string_list *asked, enum status status,
                                    struct error *err);
