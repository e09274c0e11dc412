#include "common/ceph/subvolume_meta.h"

#include "tests/test.h"

#define GLOBAL                                                                                     \
    "[GLOBAL]\nversion = 2\ntype = subvolume\npath = /volumes/csi/a/u\nstate = complete\n\n"

TEST(file_of_the_manager_is_understood)
{
    _cleanup_subvolume_meta_ struct subvolume_meta meta = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        subvolume_meta_parse(GLOBAL "[USER_METADATA]\na/b = 5%% = x: y\nc = \n\n", &meta, &err), 0);
    assert_string_equal(subvolume_meta_get(&meta, "path"), "/volumes/csi/a/u");
    assert_string_equal(subvolume_meta_get(&meta, "nothing"), "");
    const struct strmap *user = subvolume_meta_find(&meta, "USER_METADATA");
    assert_non_null(user);
    assert_string_equal(strmap_get(user, "a/b"), "5% = x: y");
    assert_string_equal(strmap_get(user, "c"), "");
    assert_null(subvolume_meta_find(&meta, "clone snaps"));
}

TEST(anything_unusual_is_refused)
{
    static const char *const texts[] = {
        "",
        "[OTHER]\na = b\n",
        "a = b\n" GLOBAL,
        GLOBAL GLOBAL,
        GLOBAL "[S]\na = b\na = c\n",
        GLOBAL "[S]\na = %(version)s\n",
        GLOBAL "[S]\na = 5%\n",
        GLOBAL "[S]\na = b\n\tcontinued\n",
        GLOBAL "[S]\n# comment = x\n",
        GLOBAL "[S]\nKey = x\n",
        GLOBAL "[S]\na: b\n",
        GLOBAL "[S]\na=b\n",
        GLOBAL "[S\na = b\n",
        GLOBAL "[]\n",
        GLOBAL "[S]\nword\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct subvolume_meta meta = {0};
        _cleanup_error_ struct error err = {0};

        if (subvolume_meta_parse(texts[i], &meta, &err) == 0)
            fail_msg("understood: %s", texts[i]);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_int_equal(meta.count, 0);
    }
}
