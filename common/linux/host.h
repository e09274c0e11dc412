#pragma once

#include "common/linux/host_ops.h"

/*
 * The machine itself: the real implementation of host_ops.h. Any thread.
 *
 * @kubelet_dir ("" or "/" for none) is trusted: links in it, such as a /var/lib/kubelet that is on
 * another disk, are followed; beneath it and everywhere else no link is. @key_dir is where
 * write_key() puts its files; made if it is not there.
 */
struct host *host_new(const char *kubelet_dir, const char *key_dir);
void host_free(struct host *host);
DEFINE_CLEANUP(struct host, host_free)
