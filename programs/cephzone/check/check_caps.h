#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Which capabilities a Ceph user needs. Pure. */

enum caps_roles {
    CAPS_RBD_CONTROLLER = 1 << 0,
    CAPS_RBD_NODE = 1 << 1,
    CAPS_CEPHFS_CONTROLLER = 1 << 2,
    CAPS_CEPHFS_NODE = 1 << 3,
};

unsigned caps_role(bool is_cephfs, bool is_for_nodes);

struct caps_rule {
    unsigned roles;
    const char *daemon;  /* "mon" */
    const char *letters; /* what "allow" must grant: "rw"; NULL: a command or profile alone */
    const char *profile; /* that is as good; NULL: none */
    const char *command; /* that must be allowed; NULL: none */
    bool is_needed;      /* nothing works without */
    const char *wanted;  /* what to add */
    const char *purpose; /* "to ..." */
};

/* NULL behind the last. */
const struct caps_rule *caps_rule(size_t index);

/*
 * Whether @cap, such as "profile rbd, allow command 'osd blocklist'", grants what the rule asks
 * for. Where a grant is restricted (to a pool, a namespace, a tag, a path) it is taken to be the
 * right one.
 */
bool caps_rule_is_met(const struct caps_rule *rule, const char *cap);
