#include "common/base/memory.h"
#include "common/volume/capability.h"
#include "tests/test.h"

/* What the CSI specification says about each mode, by its number there. */
static const struct {
    const char *name;
    int number;
    bool read_only;
    bool multi_node_writer;
} MODES[] = {
    {"SINGLE_NODE_WRITER", 1, false, false},       {"SINGLE_NODE_READER_ONLY", 2, true, false},
    {"MULTI_NODE_READER_ONLY", 3, true, false},    {"MULTI_NODE_SINGLE_WRITER", 4, false, true},
    {"MULTI_NODE_MULTI_WRITER", 5, false, true},   {"SINGLE_NODE_SINGLE_WRITER", 6, false, false},
    {"SINGLE_NODE_MULTI_WRITER", 7, false, false},
};

TEST(modes_have_the_numbers_and_names_of_csi)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MODES); i++)
        assert_string_equal(access_mode_name((enum access_mode)MODES[i].number), MODES[i].name);
}

TEST(mode_that_nobody_knows_has_a_name)
{
    static const int numbers[] = {0, 8, 99, INT32_MAX, -1, INT32_MIN};

    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
        assert_string_equal(access_mode_name((enum access_mode)numbers[i]), "UNKNOWN");
}

TEST(modes_are_told_by_what_they_may_do)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MODES); i++) {
        enum access_mode mode = (enum access_mode)MODES[i].number;

        assert_int_equal(access_mode_is_read_only(mode), MODES[i].read_only);
        assert_int_equal(access_mode_is_multi_node_writer(mode), MODES[i].multi_node_writer);
    }
    assert_false(access_mode_is_read_only(ACCESS_UNKNOWN));
    assert_false(access_mode_is_multi_node_writer(ACCESS_UNKNOWN));
}

static void assert_refused(int (*check)(const struct capability_list *, struct error *),
                           struct volume_capability *items, size_t count, const char *message)
{
    const struct capability_list list = {items, count};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(check(&list, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_string_equal(err.message, message);
}

static void assert_accepted(int (*check)(const struct capability_list *, struct error *),
                            struct volume_capability *items, size_t count)
{
    const struct capability_list list = {items, count};
    _cleanup_error_ struct error err = {0};

    if (check(&list, &err) < 0)
        fail_msg("%s", err.message);
    assert_null(err.message);
}

TEST(every_known_mode_passes_with_either_type)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MODES); i++) {
        struct volume_capability items[] = {
            {.type = ACCESS_TYPE_BLOCK, .mode = (enum access_mode)MODES[i].number},
            {.type = ACCESS_TYPE_MOUNT, .mode = (enum access_mode)MODES[i].number},
        };

        assert_accepted(capability_list_check, items, ARRAY_LENGTH(items));
    }
}

TEST(at_least_one_capability_is_needed)
{
    assert_refused(capability_list_check, NULL, 0, "volume_capabilities is missing");
}

TEST(capability_without_type_is_refused_by_position)
{
    struct volume_capability items[] = {
        {.type = ACCESS_TYPE_MOUNT, .mode = ACCESS_SINGLE_NODE_WRITER},
        {.type = ACCESS_TYPE_BLOCK, .mode = ACCESS_SINGLE_NODE_WRITER},
        {.type = ACCESS_TYPE_NONE, .mode = ACCESS_SINGLE_NODE_WRITER},
    };

    assert_accepted(capability_list_check, items, 2);
    assert_refused(capability_list_check, items, 3,
                   "volume_capabilities[2] has neither block nor mount");
    assert_refused(capability_list_check, &items[2], 1,
                   "volume_capabilities[0] has neither block nor mount");
}

TEST(capability_without_known_mode_is_refused_by_position)
{
    static const int numbers[] = {0, 8, 99, INT32_MAX, -1, INT32_MIN};

    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        struct volume_capability items[] = {
            {.type = ACCESS_TYPE_MOUNT, .mode = ACCESS_SINGLE_NODE_WRITER},
            {.type = ACCESS_TYPE_MOUNT, .mode = (enum access_mode)numbers[i]},
        };

        assert_refused(capability_list_check, items, ARRAY_LENGTH(items),
                       "volume_capabilities[1] has no known access_mode");
    }
}

TEST(rbd_image_has_any_mode_as_a_block_device)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MODES); i++) {
        struct volume_capability block = {.type = ACCESS_TYPE_BLOCK,
                                          .mode = (enum access_mode)MODES[i].number};

        assert_accepted(capability_list_check_rbd, &block, 1);
    }
}

TEST(file_system_on_an_rbd_image_is_written_on_one_node_only)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MODES); i++) {
        struct volume_capability mount = {.type = ACCESS_TYPE_MOUNT,
                                          .mode = (enum access_mode)MODES[i].number};
        _cleanup_free_ char *message =
            xasprintf("volume_capabilities[0]: %s is not possible for a file system on an RBD "
                      "image, only for volumeMode Block; use CephFS to share files between nodes",
                      MODES[i].name);

        if (MODES[i].multi_node_writer)
            assert_refused(capability_list_check_rbd, &mount, 1, message);
        else
            assert_accepted(capability_list_check_rbd, &mount, 1);
    }
}

TEST(impossible_mode_for_rbd_is_found_at_any_position)
{
    struct volume_capability items[] = {
        {.type = ACCESS_TYPE_BLOCK, .mode = ACCESS_MULTI_NODE_MULTI_WRITER},
        {.type = ACCESS_TYPE_MOUNT, .mode = ACCESS_SINGLE_NODE_WRITER},
        {.type = ACCESS_TYPE_MOUNT, .mode = ACCESS_MULTI_NODE_MULTI_WRITER},
    };
    const struct capability_list list = {items, ARRAY_LENGTH(items)};
    _cleanup_error_ struct error err = {0};

    assert_accepted(capability_list_check_rbd, items, 2);
    assert_int_equal(capability_list_check_rbd(&list, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "volume_capabilities[2]: MULTI_NODE_MULTI_WRITER "));
}

TEST(cephfs_volume_has_any_mode_but_is_no_block_device)
{
    for (int mode = ACCESS_SINGLE_NODE_WRITER; mode <= ACCESS_SINGLE_NODE_MULTI_WRITER; mode++) {
        struct volume_capability mount = {.type = ACCESS_TYPE_MOUNT,
                                          .mode = (enum access_mode)mode};
        struct volume_capability both[] = {
            mount, {.type = ACCESS_TYPE_BLOCK, .mode = (enum access_mode)mode}};

        assert_accepted(capability_list_check_cephfs, &mount, 1);
        assert_refused(
            capability_list_check_cephfs, both, 2,
            "volume_capabilities[1]: a CephFS volume is a directory, not a block device; "
            "use volumeMode Filesystem, or RBD");
    }
}

TEST(released_list_is_empty)
{
    struct capability_list list = {.items = xcalloc(3, sizeof(*list.items)), .count = 3};

    list.items[0] = (struct volume_capability){
        .type = ACCESS_TYPE_MOUNT, .fs_type = xstrdup("ext4"), .mount_group = xstrdup("1000")};
    string_list_add(&list.items[0].mount_flags, "noatime");
    string_list_add(&list.items[0].mount_flags, "discard");
    list.items[1] = (struct volume_capability){.type = ACCESS_TYPE_BLOCK};
    capability_list_done(&list);
    assert_null(list.items);
    assert_int_equal(list.count, 0);
    capability_list_done(&list);
}

TEST(released_capability_is_zero)
{
    struct volume_capability capability = {
        .type = ACCESS_TYPE_MOUNT, .mode = ACCESS_SINGLE_NODE_WRITER, .fs_type = xstrdup("xfs")};

    volume_capability_done(&capability);
    assert_int_equal(capability.type, ACCESS_TYPE_NONE);
    assert_int_equal(capability.mode, ACCESS_UNKNOWN);
    assert_null(capability.fs_type);
    volume_capability_done(&capability);
}
