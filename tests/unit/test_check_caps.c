#include "common/base/memory.h"
#include "programs/cephzone/check/check_caps.h"
#include "tests/test.h"

/* Whether all rules, or all that are needed, are met by these caps; "" for a daemon without. */
static bool is_enough(unsigned role, bool with_wishes, const char *mon, const char *mgr,
                      const char *osd, const char *mds)
{
    for (size_t i = 0; caps_rule(i); i++) {
        const struct caps_rule *rule = caps_rule(i);
        const char *cap = strcmp(rule->daemon, "mon") == 0   ? mon
                          : strcmp(rule->daemon, "mgr") == 0 ? mgr
                          : strcmp(rule->daemon, "osd") == 0 ? osd
                                                             : mds;

        if ((rule->roles & role) && (rule->is_needed || with_wishes) &&
            !caps_rule_is_met(rule, cap))
            return false;
    }
    return true;
}

/* What Rook gives its users, and what docs/install.md does. */
TEST(caps_of_rook_are_enough)
{
    assert_true(is_enough(CAPS_RBD_CONTROLLER, true, "profile rbd, allow command 'osd blocklist'",
                          "allow rw", "profile rbd", ""));
    assert_true(is_enough(CAPS_RBD_NODE, true, "profile rbd", "allow rw", "profile rbd", ""));
    assert_true(is_enough(CAPS_CEPHFS_CONTROLLER, true, "allow r, allow command 'osd blocklist'",
                          "allow rw", "allow rw tag cephfs metadata=*", "allow *"));
    assert_true(is_enough(CAPS_CEPHFS_NODE, true, "allow r", "allow rw",
                          "allow rwx tag cephfs metadata=*, allow rw tag cephfs data=*",
                          "allow rw"));
    assert_true(is_enough(CAPS_RBD_CONTROLLER, true, "profile rbd, allow command \"osd blocklist\"",
                          "profile rbd", "profile rbd pool=a, profile rbd pool=b", ""));
}

TEST(administrator_may_do_everything)
{
    for (unsigned role = CAPS_RBD_CONTROLLER; role <= CAPS_CEPHFS_NODE; role <<= 1)
        assert_true(is_enough(role, true, "allow *", "allow *", "allow *", "allow *"));
}

TEST(caps_that_lack_something_are_not_enough)
{
    static const struct {
        unsigned role;
        bool with_wishes;
        const char *mon, *mgr, *osd, *mds;
    } cases[] = {
        {CAPS_RBD_NODE, false, "", "", "profile rbd", ""},
        {CAPS_RBD_NODE, false, "profile rbd", "", "", ""},
        {CAPS_RBD_NODE, false, "profile rbd", "", "profile rbd-read-only", ""},
        {CAPS_RBD_NODE, false, "profile rbd", "", "allow rw", ""},
        {CAPS_RBD_NODE, false, "allow command 'osd blocklist'", "", "profile rbd", ""},
        {CAPS_RBD_CONTROLLER, true, "profile rbd", "allow rw", "profile rbd", ""},
        {CAPS_RBD_CONTROLLER, true, "profile rbd, allow command 'osd blocklist ls'", "allow rw",
         "profile rbd", ""},
        {CAPS_RBD_CONTROLLER, true, "profile rbd, allow command 'osd blocklist'", "", "profile rbd",
         ""},
        {CAPS_CEPHFS_CONTROLLER, false, "allow r", "allow r", "allow rw", ""},
        {CAPS_CEPHFS_CONTROLLER, false, "allow r", "allow rw", "allow r tag cephfs *=*", ""},
        {CAPS_CEPHFS_NODE, false, "allow r", "", "allow rw tag cephfs *=*", "allow r"},
        {CAPS_CEPHFS_NODE, false, "allow r", "", "", "allow rw"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (is_enough(cases[i].role, cases[i].with_wishes, cases[i].mon, cases[i].mgr, cases[i].osd,
                      cases[i].mds))
            fail_msg("case %zu is taken to be enough", i);
}

/* What is only wished for does not keep a volume from working. */
TEST(wishes_are_no_needs)
{
    assert_true(is_enough(CAPS_RBD_CONTROLLER, false, "profile rbd", "", "profile rbd", ""));
}

TEST(role_follows_driver_and_secret)
{
    assert_int_equal(caps_role(false, false), CAPS_RBD_CONTROLLER);
    assert_int_equal(caps_role(false, true), CAPS_RBD_NODE);
    assert_int_equal(caps_role(true, false), CAPS_CEPHFS_CONTROLLER);
    assert_int_equal(caps_role(true, true), CAPS_CEPHFS_NODE);
}
