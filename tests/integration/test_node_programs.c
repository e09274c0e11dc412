/*
 * Programs that take longer than kubelet waits. In front of the real mkfs and e2fsck there are ones
 * that stay as long as there is a file 'gate', and note that they were begun.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/integration/node_fixture.h"

#define SHORT_MS 4000 /* what a call has that is meant to end too early */

const bool NODE_IS_CEPHFS = false;

static char folder[] = "/tmp/cephzone-programs-XXXXXX";

static void put_in_front(const char *name)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);
    _cleanup_free_ char *script =
        xasprintf("#!/bin/sh\necho $$ %s >>%s/begun\nwhile [ -e %s/gate ]; do sleep 0.05; done\n"
                  "exec /usr/sbin/%s \"$@\"\n",
                  name, folder, folder, name);

    write_at(folder, name, script);
    assert_int_equal(chmod(path, 0700), 0);
}

static int begin(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    put_in_front("mkfs.ext4");
    put_in_front("e2fsck");
    _cleanup_free_ char *path = xasprintf("%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
    node_fixture_init();
    node_fixture_start();
    return 0;
}

static void remove_here(const char *name)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);

    unlink(path);
}

static int end(void **state)
{
    remove_here("begun");
    remove_here("mkfs.ext4");
    remove_here("e2fsck");
    assert_int_equal(rmdir(folder), 0);
    return node_fixture_end(state);
}

static void open_gate(const char *unused)
{
    (void)unused;
    remove_here("gate");
    node.driver.once = false;
    node.timeout_ms = 0;
}

static void close_gate(void)
{
    write_at(folder, "gate", "");
    remove_here("begun");
    node_on_failure(open_gate, "the gate");
    node.driver.once = true;
    node.timeout_ms = SHORT_MS;
}

static unsigned count_begun(const char *program)
{
    _cleanup_free_ char *text = read_at(folder, "begun");
    unsigned count = 0;

    for (const char *found = text ? strstr(text, program) : NULL; found;
         found = strstr(found + 1, program))
        count++;
    return count;
}

/* What a call has in time may not be enough to come as far as the program. Then the driver is let
 * finish with it, and the next one gets more. */
static int stage_impatiently(const struct test_volume *volume, struct error *err)
{
    struct test_wait wait = {0};
    int result;

    while ((result = node_stage(volume, err)) < 0 &&
           (err->status == STATUS_DEADLINE_EXCEEDED || strstr(err->message, "' has been ")) &&
           test_wait_more(&wait)) {
        if (err->status == STATUS_DEADLINE_EXCEEDED)
            node.timeout_ms *= 2;
        error_clear(err);
    }
    return result;
}

NODE_TEST(a_slow_mkfs_is_made_once)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&volume, "slow-mkfs", 64 * MIB);
    close_gate();
    for (int i = 0; i < 2; i++)
        must_refuse(stage_impatiently(&volume, &err), STATUS_ABORTED, "making ext4 on '/dev/loop");
    must_refuse(node_unstage(&volume, &err), STATUS_ABORTED, "has taken");
    open_gate(NULL);
    node_undone("the gate");
    put_up(&volume);
    assert_int_equal(count_begun("mkfs.ext4"), 1);
    write_at(volume.target, "hello", "slow");
    take_down(&volume);
    test_volume_delete(&volume);
}

/* A volume with a file, that is not staged. */
static struct test_volume used_volume(const char *name)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&volume, name, 64 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", name);
    take_down(&volume);
    return volume;
}

NODE_TEST(a_slow_check_is_made_once)
{
    struct test_volume volume = used_volume("slow-fsck");

    close_gate();
    for (int i = 0; i < 2; i++)
        must_refuse(stage_impatiently(&volume, &err), STATUS_ABORTED, "checking the file system");
    open_gate(NULL);
    node_undone("the gate");
    put_up(&volume);
    assert_int_equal(count_begun("e2fsck"), 1);
    assert_file(volume.target, "hello", "slow-fsck");
    take_down(&volume);
    test_volume_delete(&volume);
}

/* The program lives on; what it works on is the next driver's to leave alone. */
NODE_TEST(a_killed_drivers_check_is_not_joined_by_a_second)
{
    struct test_volume volume = used_volume("killed-fsck");

    close_gate();
    must_refuse(stage_impatiently(&volume, &err), STATUS_ABORTED, "checking the file system");
    node_fixture_restart(SIGKILL);
    node.driver.once = true;
    must_refuse(stage_impatiently(&volume, &err), STATUS_ABORTED, "another run of this driver");
    must_refuse(node_unstage(&volume, &err), STATUS_ABORTED, "another run of this driver");
    assert_int_equal(count_begun("e2fsck"), 1);
    open_gate(NULL);
    node_undone("the gate");
    put_up(&volume);
    assert_int_equal(count_begun("e2fsck"), 2);
    assert_file(volume.target, "hello", "killed-fsck");
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(a_driver_that_ends_leaves_no_check_behind)
{
    struct test_volume volume = used_volume("ended-fsck");

    close_gate();
    must_refuse(stage_impatiently(&volume, &err), STATUS_ABORTED, "checking the file system");
    node_fixture_restart(SIGTERM);
    open_gate(NULL);
    node_undone("the gate");
    put_up(&volume);
    assert_int_equal(count_begun("e2fsck"), 2);
    assert_file(volume.target, "hello", "ended-fsck");
    take_down(&volume);
    test_volume_delete(&volume);
}

TEST_GROUP(begin, end)
