/* Which paths are mount points, on kernels that say so and on those before 5.8, which do not. */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/linux/host.h"
#include "tests/must.h"

static bool kernel_is_old;

/* In the place of the C library's. */
int statx(int folder, const char *restrict path, int flags, unsigned mask,
          struct statx *restrict found)
{
    int result = (int)syscall(SYS_statx, folder, path, flags, mask, found);

    if (kernel_is_old) {
        found->stx_attributes &= ~(uint64_t)STATX_ATTR_MOUNT_ROOT;
        found->stx_attributes_mask &= ~(uint64_t)STATX_ATTR_MOUNT_ROOT;
    }
    return result;
}

static bool is_mount_point(struct host *host, const char *path)
{
    struct path_facts facts = {0};

    must(host->ops->look(host, path, &facts, &err));
    assert_int_not_equal(facts.kind, PATH_ABSENT);
    return facts.is_mount_point;
}

static void check_paths(void)
{
    static const char *const others[] = {"/usr", "/usr/lib", "/etc/passwd", "/proc/stat"};
    _cleanup_(host_freep) struct host *host = host_new("", "/nonexistent");
    _cleanup_mount_list_ struct mount_list mounts = {0};
    unsigned found = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        if (is_mount_point(host, others[i]))
            fail_msg("%s is no mount point", others[i]);
    must(host->ops->list_mounts(host, &mounts, &err));
    for (size_t i = 0; i < mounts.count; i++) {
        _cleanup_error_ struct error hidden = {0}; /* below another mount, or not for us */
        struct path_facts facts = {0};

        if (strcmp(mounts.items[i].target, "/") == 0 ||
            host->ops->look(host, mounts.items[i].target, &facts, &hidden) < 0 ||
            facts.kind == PATH_ABSENT)
            continue;
        if (!facts.is_mount_point)
            fail_msg("%s is a mount point", mounts.items[i].target);
        found++;
    }
    assert_true(found > 0);
    assert_true(is_mount_point(host, "/proc"));
}

TEST(mount_points_are_known)
{
    kernel_is_old = false;
    check_paths();
}

TEST(mount_points_are_known_where_the_kernel_does_not_say_so)
{
    kernel_is_old = true;
    check_paths();
}
