/*
 * 50 volumes staged and published at once with the fuse mapper, twice over: the driver's memory
 * does not grow, and how long a stage takes is printed beside the same steps done by hand.
 */
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/integration/node_fixture.h"

#define VOLUMES 50
#define BY_HAND 15
/* What the allocator and the threads' stacks may add after the first round. */
#define GROWTH_KIB_MAX 8192

const bool NODE_IS_CEPHFS = false;

static double now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *times, size_t count)
{
    qsort(times, count, sizeof(*times), compare_times);
    return times[count / 2];
}

static long resident_kib(pid_t pid)
{
    _cleanup_free_ char *folder = xasprintf("/proc/%d", (int)pid);
    _cleanup_free_ char *status = read_at(folder, "status");
    const char *line = strstr(status, "VmRSS:");

    assert_non_null(line);
    return strtol(line + strlen("VmRSS:"), NULL, 10);
}

/* Puts all up and takes all down; @times (may be NULL) are those of the stages. */
static long round_trip(struct test_volume *volumes, double *times)
{
    for (size_t i = 0; i < VOLUMES; i++) {
        double start = now_ms();

        must(node_stage(&volumes[i], &err));
        if (times)
            times[i] = now_ms() - start;
        must(node_publish(&volumes[i], &err));
    }
    long resident = resident_kib(node.driver.pid);
    for (size_t i = 0; i < VOLUMES; i++) {
        must(node_unpublish(&volumes[i], &err));
        must(node_unstage(&volumes[i], &err));
    }
    return resident;
}

static char *shell(const char *command)
{
    char *output = harness_run_tool((const char *[]){"sh", "-c", command, NULL});

    output[strcspn(output, "\n")] = '\0';
    return output;
}

/* Export, loop device and mount with programs; what it takes without a driver. */
static double by_hand(const struct test_volume *volume)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *image = image_of(volume->handle);
    _cleanup_free_ char *map = xasprintf(
        "cd %s && : >export && mkdir -p mnt && "
        "printf '[global]\\nmon_host = %s\\n' >ceph.conf && "
        "qemu-storage-daemon --daemonize --pidfile %s/pid "
        "--object secret,id=key,format=base64,file=$CSI_KEY_FILE "
        "--blockdev driver=rbd,node-name=i,pool=common,image=%s,user=%s,key-secret=key,"
        "conf=%s/ceph.conf --export fuse,id=e,node-name=i,mountpoint=%s/export,writable=on && "
        "losetup --find --show --direct-io=on export >device && mount $(cat device) mnt",
        volume->staging, cluster->monitors, volume->staging, image, cluster->user, volume->staging,
        volume->staging);
    _cleanup_free_ char *unmap =
        xasprintf("cd %s && umount mnt && losetup -d $(cat device) && pid=$(cat pid) && "
                  "kill $pid && while [ -e /proc/$pid/exe ]; do sleep 0.01; done; "
                  "umount -l export 2>/dev/null; rm -rf export mnt ceph.conf device pid",
                  volume->staging);
    double start = now_ms();

    free(shell(map));
    double took = now_ms() - start;
    free(shell(unmap));
    return took;
}

NODE_TEST(fifty_volumes_leave_the_memory_as_it_was)
{
    struct test_volume volumes[VOLUMES];
    double stages[VOLUMES];
    double bare[BY_HAND];

    for (size_t i = 0; i < VOLUMES; i++) {
        _cleanup_free_ char *name = xasprintf("many-%zu", i);

        volumes[i] = plain_volume(name);
    }
    long idle = resident_kib(node.driver.pid);
    long first = round_trip(volumes, NULL); /* makes the file systems */
    for (size_t i = 0; i < BY_HAND; i++)
        bare[i] = by_hand(&volumes[i]);
    long second = round_trip(volumes, stages);
    print_message("figure: NodeStageVolume p50 %.0f ms, the same by hand %.0f ms\n",
                  median(stages, VOLUMES), median(bare, BY_HAND));
    print_message("figure: resident %ld KiB idle, %ld KiB with %d volumes, %ld KiB in round two\n",
                  idle, first, VOLUMES, second);
    assert_true(second - first < GROWTH_KIB_MAX);
    for (size_t i = 0; i < VOLUMES; i++)
        test_volume_delete(&volumes[i]);
}

TEST_GROUP(node_fixture_begin, node_fixture_end)
