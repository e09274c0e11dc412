/*
 * key-types: which types of cephx keys the kernel refuses, as the driver asks it. Its clients of
 * Ceph must be loaded.
 */
#include <stdio.h>

#include "common/linux/host.h"
#include "common/linux/host_ops.h"

int main(void)
{
    struct host *host = host_new("/var/lib/kubelet", "/run/cephzone/keys");

    for (unsigned type = 1; type <= 2; type++)
        printf("%u %s\n", type, host->ops->refuses_key_type(host, type) ? "refused" : "taken");
    host_free(host);
    return 0;
}
