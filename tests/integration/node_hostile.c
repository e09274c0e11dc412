#include "tests/integration/node_hostile.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/rpc/rpc.h"

#include "csi.pb-c.h"

static struct test_volume volume;
static char *victim; /* a folder with a file */

/* Everything beneath the victim with type, mode, owner, size and content. */
static char *victim_state(void)
{
    _cleanup_free_ char *list = harness_run_tool(
        (const char *[]){"find", victim, "-printf", "%p %y %m %u %g %s %l\n", NULL});
    _cleanup_free_ char *content = read_at(victim, "precious");

    return xasprintf("%s%s", list, content ? content : "gone");
}

#define refused_and_harmless(expression, status)                                                   \
    do {                                                                                           \
        _cleanup_free_ char *before = victim_state();                                              \
                                                                                                   \
        must_refuse(expression, status, "");                                                       \
        _cleanup_free_ char *after = victim_state();                                               \
        assert_string_equal(after, before);                                                        \
    } while (0)

/* An answer of a driver that lives and has understood what was asked. */
static void assert_is_refusal(const struct error *err)
{
    if (err->status == STATUS_UNAVAILABLE || err->status == STATUS_DEADLINE_EXCEEDED ||
        err->status == STATUS_ABORTED || err->status == STATUS_UNKNOWN)
        fail_msg("%s: %s", status_name(err->status), err->message);
}

/* Is refused in one way or another; which one depends on where the link is met. */
#define fails_and_harmless(expression)                                                             \
    do {                                                                                           \
        _cleanup_error_ struct error err = {0};                                                    \
        _cleanup_free_ char *before = victim_state();                                              \
                                                                                                   \
        assert_int_equal((expression), -1);                                                        \
        assert_is_refusal(&err);                                                                   \
        _cleanup_free_ char *after = victim_state();                                               \
        assert_string_equal(after, before);                                                        \
    } while (0)

static char *beside(const char *name)
{
    return xasprintf("%s/%s", node.root, name);
}

NODE_TEST(paths_with_dots_are_refused)
{
    static const char *const paths[] = {"relative/path", "/",       "/tmp/../etc", "/tmp/./x",
                                        "/tmp/x/..",     "/tmp/x/", "/tmp/a\nb",   ".."};
    struct test_volume other = volume;

    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        other.staging = (char *)(uintptr_t)paths[i];
        other.target = volume.target;
        refused_and_harmless(node_stage(&other, &err), STATUS_INVALID_ARGUMENT);
        refused_and_harmless(node_unstage(&other, &err), STATUS_INVALID_ARGUMENT);
        refused_and_harmless(node_publish(&other, &err), STATUS_INVALID_ARGUMENT);
        other.staging = volume.staging;
        other.target = (char *)(uintptr_t)paths[i];
        refused_and_harmless(node_publish(&other, &err), STATUS_INVALID_ARGUMENT);
        refused_and_harmless(node_unpublish(&other, &err), STATUS_INVALID_ARGUMENT);
    }
}

NODE_TEST(ids_that_are_no_names_are_refused)
{
    static const char *const ids[] = {"../../etc/passwd", "a/b", "..", ".",
                                      "image-meta.json",  "a\nb"};
    struct test_volume other = volume;

    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
        other.handle = (char *)(uintptr_t)ids[i];
        refused_and_harmless(node_stage(&other, &err), STATUS_INVALID_ARGUMENT);
        refused_and_harmless(node_unstage(&other, &err), STATUS_INVALID_ARGUMENT);
        refused_and_harmless(node_publish(&other, &err), STATUS_INVALID_ARGUMENT);
        refused_and_harmless(node_unpublish(&other, &err), STATUS_INVALID_ARGUMENT);
        fails_and_harmless(node_stats(&other, &err) ? 0 : -1);
    }
}

/* NodeUnstageVolume for "HANDLE NUL /etc", which a program in C would take for HANDLE. protobuf-c
 * cannot write such a text, but bytes that it takes for an unknown field. */
static int unstage_with_nul(struct error *err)
{
    uint8_t bytes[128] = {0};
    const size_t length = strlen(volume.handle);
    ProtobufCMessageUnknownField field = {.tag = 1,
                                          .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
                                          .len = 1 + length + sizeof("/etc"),
                                          .data = bytes};
    Csi__V1__NodeUnstageVolumeRequest *message =
        message_new(&csi__v1__node_unstage_volume_request__descriptor);
    const struct rpc_request request = {.path = "/csi.v1.Node/NodeUnstageVolume",
                                        .message = &message->base,
                                        .response =
                                            &csi__v1__node_unstage_volume_response__descriptor,
                                        .deadline = deadline_in_ms(30000)};
    ProtobufCMessage *reply = NULL;

    assert_between(field.len, 1, sizeof(bytes) - 1);
    bytes[0] = (uint8_t)(field.len - 1);
    memcpy(bytes + 1, volume.handle, length);
    memcpy(bytes + 1 + length + 1, "/etc", sizeof("/etc"));
    message->staging_target_path = xstrdup(volume.staging);
    message->base.n_unknown_fields = 1;
    message->base.unknown_fields = &field;
    int result = rpc_client_call(node.driver.client, &request, &reply, err);
    message->base.n_unknown_fields = 0;
    message->base.unknown_fields = NULL;
    message_free(&message->base);
    message_free(reply);
    return result;
}

NODE_TEST(an_id_does_not_end_at_a_nul)
{
    must(node_stage(&volume, &err));
    must_refuse(unstage_with_nul(&err), STATUS_INVALID_ARGUMENT, "NUL");
    must(node_publish(&volume, &err)); /* it is still staged */
    must(node_unpublish(&volume, &err));
    must(node_unstage(&volume, &err));
}

/* They are only looked at, and nothing can be there. */
NODE_TEST(stats_and_growth_of_strange_paths_are_refused)
{
    const char *const paths[] = {"/",        "/proc/1/root", "/tmp/../etc",
                                 "relative", "/tmp/a\nb",    victim};
    struct test_volume other = volume;

    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        other.target = (char *)(uintptr_t)paths[i];
        fails_and_harmless(node_stats(&other, &err) ? 0 : -1);
        fails_and_harmless(node_grow(&other, 32 * MIB, &err));
    }
}

NODE_TEST(values_that_are_too_long_are_refused)
{
    struct test_volume other = volume;
    char id[4096];
    char path[8192];

    memset(id, 'x', sizeof(id) - 1);
    id[sizeof(id) - 1] = '\0';
    other.handle = id;
    fails_and_harmless(node_stage(&other, &err));
    fails_and_harmless(node_unstage(&other, &err));
    other.handle = volume.handle;
    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    other.target = path;
    fails_and_harmless(node_publish(&other, &err));
    fails_and_harmless(node_unpublish(&other, &err));
    other.flag = id;
    fails_and_harmless(node_stage(&other, &err));
}

NODE_TEST(flags_that_are_several_are_refused)
{
    static const char *const flags[] = {"noatime,exec", "ro\nrw", "",     "bind",
                                        "remount",      "move",   "rbind"};
    struct test_volume other = volume;

    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        other.flag = flags[i];
        refused_and_harmless(node_stage(&other, &err), STATUS_INVALID_ARGUMENT);
    }
    assert_nothing_left();
}

NODE_TEST(a_staging_path_through_a_link_is_refused)
{
    struct test_volume other = volume;
    _cleanup_free_ char *link = beside("link");

    assert_int_equal(symlink(victim, link), 0);
    other.staging = link;
    fails_and_harmless(node_stage(&other, &err));
    other.staging = beside("link/below");
    fails_and_harmless(node_stage(&other, &err));
    fails_and_harmless(node_unstage(&other, &err));
    free(other.staging);
    unlink(link);
}

static void stage_beside_link(const char *target, const char *link)
{
    _cleanup_free_ char *was = victim_state();

    assert_int_equal(symlink(target, link), 0);
    if (NODE_IS_CEPHFS) {
        _cleanup_error_ struct error ignored = {0};

        /* Nothing in the staging path is looked at: it is mounted over, which libfuse 2 refuses and
         * libfuse 3 does. */
        (void)!node_stage(&volume, &ignored);
        must(node_unstage(&volume, &err));
    } else {
        fails_and_harmless(node_stage(&volume, &err));
        fails_and_harmless(node_unstage(&volume, &err));
    }
    assert_int_equal(unlink(link), 0);
    _cleanup_free_ char *is = victim_state();
    assert_string_equal(is, was);
}

NODE_TEST(links_planted_in_the_staging_path_are_not_followed)
{
    _cleanup_free_ char *staged = xasprintf("%s/%s", volume.staging, volume.handle);
    _cleanup_free_ char *meta = xasprintf("%s/image-meta.json", volume.staging);
    _cleanup_free_ char *file = xasprintf("%s/precious", victim);

    stage_beside_link(victim, staged);
    stage_beside_link(file, meta);
}

NODE_TEST(links_planted_at_the_target_are_not_followed)
{
    struct test_volume other = volume;

    must(node_stage(&volume, &err));
    assert_int_equal(symlink(victim, volume.target), 0);
    fails_and_harmless(node_publish(&volume, &err));
    fails_and_harmless(node_unpublish(&volume, &err));
    other.target = xasprintf("%s/below", volume.target);
    fails_and_harmless(node_publish(&other, &err));
    fails_and_harmless(node_unpublish(&other, &err));
    free(other.target);
    assert_int_equal(unlink(volume.target), 0);
    must(node_unstage(&volume, &err));
}

NODE_TEST(what_is_not_ours_is_not_unmounted_or_removed)
{
    static const char *const paths[] = {"/proc", "/sys", "/tmp", "/etc/passwd", "/dev/null"};
    struct test_volume other = volume;
    _cleanup_free_ char *file = xasprintf("%s/precious", victim);
    _cleanup_free_ char *mounts = read_at("/proc/self", "mountinfo");
    struct stat stat_now;

    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        other.target = (char *)(uintptr_t)paths[i];
        fails_and_harmless(node_unpublish(&other, &err));
        assert_int_equal(stat(paths[i], &stat_now), 0);
    }
    other.target = victim;
    fails_and_harmless(node_unpublish(&other, &err));
    other.target = file;
    fails_and_harmless(node_unpublish(&other, &err));
    _cleanup_free_ char *mounts_now = read_at("/proc/self", "mountinfo");
    assert_non_null(mounts_now);
    assert_string_equal(mounts_now, mounts);
}

static int prepare(void **state)
{
    node_fixture_begin(state);
    volume = plain_volume("hostile");
    victim = xstrdup("/tmp/cephzone-victim-XXXXXX");
    assert_non_null(mkdtemp(victim));
    write_at(victim, "precious", "data");
    return 0;
}

static int finish(void **state)
{
    _cleanup_free_ char *file = xasprintf("%s/precious", victim);

    test_volume_delete(&volume);
    unlink(file);
    rmdir(victim);
    free(victim);
    return node_fixture_end(state);
}

TEST_GROUP(prepare, finish)
