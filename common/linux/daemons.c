/*
 * Daemons that survive the driver's container.
 *
 * When the first process of a container ends, the runtime kills all that is in the container's
 * cgroup; and the kernel kills all that is in a pid namespace whose first process has ended.
 * Devices and mounts of pods die with the rbd-nbd or ceph-fuse that serves them. So these are moved
 * to a cgroup of their own at the root of the host's tree. This takes a container that shares the
 * host's pid namespace and sees the host's cgroups, as a privileged one with hostPID does. Without,
 * the daemons end with the container.
 *
 * With cgroup v2 alone: v1 has a tree for each controller, and Kubernetes has given it up.
 */
#include "common/linux/daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/linux/host_internal.h"

#define CGROUPS "/sys/fs/cgroup"
#define OWN_CGROUP CGROUPS "/cephzone"
#define CGROUP_MODE 0755
/* The kernel numbers the namespaces that it starts with; the numbers are part of its interface. */
#define FIRST_CGROUP_NAMESPACE 0xEFFFFFFBU
#define FIRST_PID_NAMESPACE 0xEFFFFFFCU

static bool is_in_namespace(const char *path, ino_t number)
{
    struct stat facts;

    return stat(path, &facts) == 0 && facts.st_ino == number;
}

static int make_cgroup(struct error *err)
{
    if (mkdir(OWN_CGROUP, CGROUP_MODE) < 0 && errno != EEXIST)
        return error_set_errno(err, -errno, "make '" OWN_CGROUP "'");
    if (access(OWN_CGROUP "/cgroup.procs", W_OK) < 0)
        return error_set_errno(err, -errno, "write to '" OWN_CGROUP "/cgroup.procs'");
    return 0;
}

static bool daemons_survive(struct host *host, char **reason)
{
    _cleanup_error_ struct error err = {0};

    (void)host;
    if (access(CGROUPS "/cgroup.controllers", F_OK) < 0)
        *reason = xstrdup("there is no cgroup v2 at " CGROUPS);
    else if (!is_in_namespace("/proc/self/ns/pid", FIRST_PID_NAMESPACE))
        *reason =
            xstrdup("the container has a pid namespace of its own, which hostPID: true spares");
    else if (!is_in_namespace("/proc/self/ns/cgroup", FIRST_CGROUP_NAMESPACE))
        *reason = xstrdup("the container has a cgroup namespace of its own");
    else if (make_cgroup(&err) < 0)
        *reason = xstrdup(err.message);
    return !*reason;
}

static int move_process(const char *pid, struct error *err)
{
    _cleanup_close_ int fd = open(OWN_CGROUP "/cgroup.procs", O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && dprintf(fd, "%s", pid) > 0)
        return 0;
    if (errno == ESRCH) /* it has ended */
        return 0;
    return error_set_errno(err, -errno, "move process %s to '" OWN_CGROUP "'", pid);
}

static int daemon_detach(struct host *host, const char *program, const char *argument,
                         struct error *err)
{
    _cleanup_string_list_ struct string_list pids = {0};
    _cleanup_free_ char *reason = NULL;

    if (!daemons_survive(host, &reason)) /* was said at start */
        return 0;
    if (host->ops->daemon_list(host, program, argument, &pids, err) < 0)
        return -1;
    for (size_t i = 0; i < pids.count; i++)
        if (move_process(pids.items[i], err) < 0)
            return -1;
    return 0;
}

void daemon_keep(struct host *host, struct call *call, const char *program, const char *argument)
{
    _cleanup_error_ struct error err = {0};

    if (host->ops->daemon_detach(host, program, argument, &err) < 0)
        log_warn(call, "this %s will end with the driver's container: %s", program, err.message);
}

void daemons_register(struct host_ops *ops)
{
    ops->daemons_survive = daemons_survive;
    ops->daemon_detach = daemon_detach;
}
