#include "tests/integration/node_leftovers.h"

#include <dirent.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/integration/node_fixture.h"

#define OUTPUT_LIMIT (1024 * 1024)
/* Every file of the node but the folders that stay. For bash, with the root as $0. */
#define FIND_FILES                                                                                 \
    "set -o pipefail; find \"$0\" -xdev -mindepth 1 -not -path '*/run' -not -path '*/run/fuse' "   \
    "-not -path '*/run/qmp' -not -path '*/run/keys' -not -name 'staging-*' "

/* --- what is left --- */

static char *run_bash(const char *script)
{
    return harness_run_tool((const char *[]){"bash", "-c", script, node.root, NULL});
}

static void add_loops(struct text *out)
{
    _cleanup_free_ char *list = harness_run_tool(
        (const char *[]){"losetup", "--list", "--noheadings", "--output", "BACK-FILE", NULL});
    char *rest = NULL;

    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strstr(line, node.root))
            text_addf(out, "loop %s\n", line);
}

/* "PATH rw" or "PATH ro", in the order in which they were mounted. */
static void list_mounts(struct string_list *mounts)
{
    _cleanup_free_ char *table = read_at("/proc/self", "mountinfo");
    char *rest = NULL;

    assert_non_null(table);
    for (char *line = strtok_r(table, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char target[512] = "";

        if (strstr(line, node.root) && sscanf(line, "%*s %*s %*s %*s %511s", target) == 1) {
            _cleanup_free_ char *mount =
                xasprintf("%s %s", target, strstr(line, " ro,") ? "ro" : "rw");

            string_list_add(mounts, mount);
        }
    }
}

static bool command_has(const char *pid, const char *argument)
{
    _cleanup_free_ char *folder = xasprintf("/proc/%s", pid);
    _cleanup_free_ char *command = read_at(folder, "cmdline");

    if (!command ||
        !(text_has_prefix(command, "qemu-storage-daemon") || text_has_prefix(command, "ceph-fuse")))
        return false;
    for (const char *word = command; *word; word += strlen(word) + 1)
        if (strstr(word, argument))
            return true;
    return false;
}

static unsigned count_daemons(const char *argument, pid_t *last)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry = NULL;
    unsigned count = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            command_has(entry->d_name, argument)) {
            *last = (pid_t)strtol(entry->d_name, NULL, 10);
            count++;
        }
    closedir(folder);
    return count;
}

static unsigned count_all_daemons(pid_t *last)
{
    return count_daemons(NODE_IS_CEPHFS ? node.root : node.run_dir, last);
}

pid_t daemon_of(const struct test_volume *volume)
{
    _cleanup_free_ char *image = image_of(volume->handle);
    _cleanup_free_ char *file = xasprintf("%s/fuse/%s%%2Fcommon%%2F%s/export", node.run_dir,
                                          harness_cluster()->fsid, image);
    pid_t pid = 0;

    return count_daemons(NODE_IS_CEPHFS ? volume->staging : file, &pid) ? pid : 0;
}

char *node_leftovers(void)
{
    struct text out = TEXT_INIT(OUTPUT_LIMIT);
    _cleanup_string_list_ struct string_list mounts = {0};
    _cleanup_free_ char *files = run_bash(FIND_FILES "-printf 'file %p %y\\n' | LC_ALL=C sort");
    pid_t last = 0;

    add_loops(&out);
    list_mounts(&mounts);
    for (size_t i = 0; i < mounts.count; i++)
        text_addf(&out, "mount %s\n", mounts.items[i]);
    unsigned daemons = count_all_daemons(&last);
    if (daemons)
        text_addf(&out, "%u daemons\n", daemons);
    text_add(&out, files);
    return text_take(&out);
}

/* --- after a failure --- */

#define UNDO_MAX 256
#define PATIENT_ROUNDS 50 /* of 100 ms, after which nobody is asked */

static struct {
    struct {
        node_undo *undo;
        char *what;
    } undos[UNDO_MAX];
    size_t count;
    size_t before; /* those that are older than the test */
    bool has_passed;
} made;

void node_on_failure(node_undo *undo, const char *what)
{
    assert_true(made.count < UNDO_MAX);
    made.undos[made.count].undo = undo;
    made.undos[made.count++].what = xstrdup(what);
}

void node_undone(const char *what)
{
    size_t kept = 0;

    for (size_t i = 0; i < made.count; i++)
        if (strcmp(made.undos[i].what, what) == 0)
            free(made.undos[i].what);
        else
            made.undos[kept++] = made.undos[i];
    made.count = kept;
}

void node_undo_start(void)
{
    if (!node.driver.pid)
        node_fixture_start();
}

/* The last one first. Returns how many there were. */
static size_t unmount_all(int flags)
{
    _cleanup_string_list_ struct string_list mounts = {0};

    list_mounts(&mounts);
    for (size_t i = mounts.count; i-- > 0;) {
        *strrchr(mounts.items[i], ' ') = '\0';
        umount2(mounts.items[i], UMOUNT_NOFOLLOW | flags);
    }
    return mounts.count;
}

void node_undo_mounts(void)
{
    struct deadline deadline = deadline_in_ms(WAIT_MS);
    pid_t daemon = 0;

    for (unsigned round = 0; !deadline_has_passed(deadline); round++) {
        size_t mounts = unmount_all(round < PATIENT_ROUNDS ? 0 : MNT_DETACH);

        free(run_bash("losetup --list --noheadings --output NAME,BACK-FILE | grep -F \"$0\" | "
                      "while read -r device _; do losetup --detach \"$device\"; done; true"));
        unsigned daemons = count_all_daemons(&daemon);
        if (daemons)
            kill(daemon, round < PATIENT_ROUNDS ? SIGTERM : SIGKILL);
        if (mounts == 0 && daemons == 0)
            break;
        usleep(100000);
    }
    free(run_bash(FIND_FILES "-delete"));
    assert_nothing_left();
}

int node_test_begins(void **state)
{
    (void)state;
    made.before = made.count;
    made.has_passed = false;
    return 0;
}

void node_test_passed(void)
{
    made.has_passed = true;
}

int node_test_ends(void **state)
{
    (void)state;
    if (!made.has_passed) {
        memset(node.flags, 0, sizeof(node.flags));
        node.driver.once = false;
        if (node.driver.pid)
            harness_stop(&node.driver, SIGKILL, WAIT_MS);
    }
    while (made.count > made.before) {
        _cleanup_free_ char *what = made.undos[--made.count].what;

        if (!made.has_passed)
            made.undos[made.count].undo(what);
    }
    if (!made.has_passed) {
        node_undo_mounts();
        node_undo_start();
    }
    return 0;
}
