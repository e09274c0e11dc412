/*
 * A volume's life on a node, with the real driver, a real Ceph and the fuse mapper or ceph-fuse:
 * what is the same for both kinds of volumes. The rest is in test_node.c and test_cephfs_node.c.
 */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "tests/integration/node_fixture.h"

/* --- files --- */

/* The next node is the same machine under another name. */
NODE_TEST(files_are_there_on_the_next_node)
{
    struct test_volume volume = plain_volume("moves");

    put_up(&volume);
    write_at(volume.target, "hello", "written by a pod");
    take_down(&volume);
    node.flags[0] = "--nodeid=node-2";
    node_fixture_restart(SIGTERM);
    put_up(&volume);
    assert_file(volume.target, "hello", "written by a pod");
    take_down(&volume);
    node.flags[0] = NULL;
    node_fixture_restart(SIGTERM);
    test_volume_delete(&volume);
}

/* --- places --- */

static void write_takeover(const char *map)
{
    _cleanup_free_ char *fresh = xasprintf("%s/takeover.new", node.driver.folder);
    _cleanup_free_ char *path = xasprintf("%s/takeover.json", node.driver.folder);

    write_at(node.driver.folder, "takeover.new", map);
    assert_int_equal(rename(fresh, path), 0);
}

/* The node is in zone-b. Its driver sees a new map with the next call. */
NODE_TEST(a_volume_of_another_zone_is_staged_only_while_that_is_taken_over)
{
    struct test_volume volume = plain_volume("elsewhere");
    const char *driver = NODE_IS_CEPHFS ? "cephfs" : "rbd";
    _cleanup_free_ char *file = xasprintf("--takeover-file=%s/takeover.json", node.driver.folder);
    _cleanup_free_ char *context = xasprintf(
        "{\"topologySegments\": \"topology.%s.csi.ceph.com/member.zone.zone-a=true\"}", driver);

    volume.context = context;
    node.flags[0] = "--domainlabels=k/zone";
    node.flags[1] = "--node-labels=k/zone=zone-b";
    node.flags[2] = "--takeover-via=nodeinfo";
    node.flags[3] = file;
    node_fixture_restart(SIGTERM);
    must_refuse(node_stage(&volume, &err), STATUS_FAILED_PRECONDITION,
                "member.zone.zone-a=true, which this node does not serve");
    assert_nothing_left();
    write_takeover("{\"zone-a\": [\"zone-b\"]}");
    put_up(&volume);
    write_at(volume.target, "hello", "written by a pod");
    write_takeover("{}");
    must(node_stage(&volume, &err)); /* it is there */
    assert_file(volume.target, "hello", "written by a pod");
    take_down(&volume);
    must_refuse(node_stage(&volume, &err), STATUS_FAILED_PRECONDITION, "does not serve");
    assert_nothing_left();
    node.flags[0] = "--enforce-topology=false";
    node.flags[1] = NULL;
    node_fixture_restart(SIGTERM);
    put_up(&volume);
    take_down(&volume);
    node.flags[0] = NULL;
    node_fixture_restart(SIGTERM);
    unlink(strchr(file, '=') + 1);
    test_volume_delete(&volume);
}

NODE_TEST(every_call_can_be_made_twice)
{
    struct test_volume volume = plain_volume("twice");

    if (NODE_IS_CEPHFS)
        volume.mode = "MULTI_NODE_MULTI_WRITER";
    put_up(&volume);
    put_up(&volume);
    must(node_unpublish(&volume, &err));
    must(node_unpublish(&volume, &err));
    must(node_unstage(&volume, &err));
    must(node_unstage(&volume, &err));
    assert_nothing_left();
    test_volume_delete(&volume);
}

NODE_TEST(a_readonly_publish_cannot_be_written)
{
    struct test_volume volume = plain_volume("readonly");

    put_up(&volume);
    write_at(volume.target, "hello", "there");
    must(node_unpublish(&volume, &err));
    volume.read_only = true;
    must(node_publish(&volume, &err));
    must(node_publish(&volume, &err));
    assert_file(volume.target, "hello", "there");
    assert_not_writable(volume.target);
    volume.read_only = false;
    must_refuse(node_publish(&volume, &err), STATUS_ALREADY_EXISTS, "reading");
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(what_is_staged_for_readers_cannot_be_written)
{
    struct test_volume volume = plain_volume("readers");

    put_up(&volume);
    write_at(volume.target, "hello", "there");
    take_down(&volume);
    volume.mode = "MULTI_NODE_READER_ONLY";
    put_up(&volume);
    assert_file(volume.target, "hello", "there");
    assert_not_writable(volume.target);
    volume.mode = "SINGLE_NODE_WRITER";
    must_refuse(node_stage(&volume, &err), STATUS_ALREADY_EXISTS, "reading");
    take_down(&volume);
    test_volume_delete(&volume);
}

/* --- safety --- */

NODE_TEST(what_is_published_is_not_unstaged)
{
    struct test_volume volume = plain_volume("in-use");

    put_up(&volume);
    must_refuse(node_unstage(&volume, &err), STATUS_FAILED_PRECONDITION, "still published at");
    write_at(volume.target, "hello", "still there");
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(one_writer_means_one_place)
{
    struct test_volume volume = plain_volume("alone");
    struct test_volume second = volume;
    _cleanup_free_ char *target = xasprintf("%s-2", volume.target);

    volume.mode = second.mode = "SINGLE_NODE_SINGLE_WRITER";
    put_up(&volume);
    second.target = target;
    must_refuse(node_publish(&second, &err), STATUS_FAILED_PRECONDITION, "one place only");
    volume.mode = second.mode = "SINGLE_NODE_MULTI_WRITER";
    must(node_publish(&second, &err));
    must(node_unpublish(&second, &err));
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(encrypted_and_unknown_volumes_are_refused)
{
    struct test_volume volume = plain_volume("refused");
    struct test_volume other = volume;

    other.context = "{\"encrypted\":\"true\"}";
    must_refuse(node_stage(&other, &err), STATUS_FAILED_PRECONDITION, "encrypted");
    other.context = NULL;
    other.handle = (char[]){"0001-0001-x-0000000000000001-b0285c97-a0ce-11eb-8c66-0242ac110002"};
    must_refuse(node_stage(&other, &err), STATUS_INVALID_ARGUMENT, "'x'");
    other.handle = (char[]){"no-such-volume"};
    must_refuse(node_stage(&other, &err), STATUS_NOT_FOUND, "no-such-volume");
    assert_nothing_left();
    test_volume_delete(&volume);
}

/* --- the key --- */

/* Files of the driver and the node, the log among them, and arguments and environments of the
 * driver, of the volume's daemon and of process @pid that have the cluster's key in them, as lines.
 * The search has it in neither. */
static char *places_of_the_key(const struct test_volume *volume, pid_t pid)
{
    _cleanup_free_ char *script = xasprintf(
        "grep -rlsaF -f \"$CSI_KEY_FILE\" '%s' '%s' /proc/{%d,%d,%d}/{cmdline,environ}; true",
        node.driver.folder, node.root, (int)node.driver.pid, (int)daemon_of(volume), (int)pid);

    return harness_run_tool((const char *[]){"bash", "-c", script, NULL});
}

static void end_process(const char *pid)
{
    kill((pid_t)strtol(pid, NULL, 10), SIGKILL);
    waitpid((pid_t)strtol(pid, NULL, 10), NULL, 0);
}

/* Looks for the key where it has been put, so that it is known to be found. */
static void assert_the_key_can_be_found(const struct test_volume *volume)
{
    char *key = harness_cluster()->key;
    _cleanup_free_ char *variable = xasprintf("PLANTED=%s", key);
    _cleanup_free_ char *in_log = xasprintf("%s/planted", node.driver.folder);
    _cleanup_free_ char *in_run_dir = xasprintf("%s/planted", node.run_dir);
    pid_t pid = 0;
    char *argv[] = {key, (char[]){"600"}, NULL};
    char *variables[] = {variable, NULL};

    assert_int_equal(posix_spawn(&pid, "/bin/sleep", NULL, NULL, argv, variables), 0);
    _cleanup_free_ char *process = xasprintf("%d", (int)pid);
    node_on_failure(end_process, process);
    node_on_failure(remove_file, in_log);
    write_at("", in_log, key);
    write_at("", in_run_dir, key);
    _cleanup_free_ char *arguments = xasprintf("/proc/%s/cmdline\n", process);
    _cleanup_free_ char *environment = xasprintf("/proc/%s/environ\n", process);
    const char *const wanted[] = {in_log, in_run_dir, arguments, environment};
    _cleanup_free_ char *found = places_of_the_key(volume, pid);
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
        if (!strstr(found, wanted[i]))
            fail_msg("the key is in %s, but was found only in\n%s", wanted[i], found);
    end_process(process);
    node_undone(process);
    assert_int_equal(unlink(in_log), 0);
    assert_int_equal(unlink(in_run_dir), 0);
}

/* The daemon has had it in a file that is gone. */
NODE_TEST(the_key_is_nowhere)
{
    struct test_volume volume = plain_volume("secret");

    put_up(&volume);
    assert_true(daemon_of(&volume) > 0);
    assert_the_key_can_be_found(&volume);
    _cleanup_free_ char *found = places_of_the_key(&volume, node.driver.pid);
    assert_string_equal(found, "");
    take_down(&volume);
    test_volume_delete(&volume);
}

/* --- at once, and after a restart --- */

NODE_TEST(calls_at_once_end_as_one)
{
    struct test_volume volume = plain_volume("at-once");

    node_calls_at_once(node_stage, &volume);
    node_calls_at_once(node_publish, &volume);
    _cleanup_free_ char *left = node_leftovers();
    assert_non_null(strstr(left, "\n1 daemons\n"));
    node_calls_at_once(node_unpublish, &volume);
    node_calls_at_once(node_unstage, &volume);
    assert_nothing_left();
    test_volume_delete(&volume);
}

NODE_TEST(a_volume_lives_on_when_the_driver_is_killed)
{
    struct test_volume volume = plain_volume("killed");

    put_up(&volume);
    pid_t pid = daemon_of(&volume);
    assert_true(pid > 0);
    harness_stop(&node.driver, SIGKILL, WAIT_MS);
    write_at(volume.target, "hello", "without a driver");
    node_fixture_start();
    put_up(&volume);
    assert_int_equal(daemon_of(&volume), pid);
    assert_file(volume.target, "hello", "without a driver");
    take_down(&volume);
    test_volume_delete(&volume);
}

TEST_GROUP(node_fixture_begin, node_fixture_end)
