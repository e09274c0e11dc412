#include "programs/cephzone/check/check_caps.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define RBD_CONTROLLER CAPS_RBD_CONTROLLER
#define RBD (CAPS_RBD_CONTROLLER | CAPS_RBD_NODE)
#define CEPHFS_CONTROLLER CAPS_CEPHFS_CONTROLLER
#define CEPHFS_NODE CAPS_CEPHFS_NODE
#define CEPHFS (CEPHFS_CONTROLLER | CEPHFS_NODE)

static const struct caps_rule RULES[] = {
    {RBD, "mon", "r", "rbd", NULL, true, "profile rbd", "to connect and to find pools"},
    {RBD, "osd", "rwx", "rbd", NULL, true, "profile rbd", "to use images"},
    {RBD_CONTROLLER, "mon", NULL, NULL, "osd blocklist", false, "allow command \"osd blocklist\"",
     "to fence and unfence clients (takeover, NetworkFence)"},
    {RBD_CONTROLLER, "mgr", "rw", "rbd", NULL, false, "allow rw",
     "for Ceph-CSI, on the way back: it removes images by a task of the manager"},
    {CEPHFS, "mon", "r", "fs-client", NULL, true, "allow r", "to connect and to find file systems"},
    {CEPHFS_CONTROLLER, "mgr", "rw", NULL, NULL, true, "allow rw", "to create subvolumes"},
    {CEPHFS_CONTROLLER, "osd", "rw", NULL, NULL, true, "allow rw tag cephfs metadata=*",
     "to write the journal"},
    {CEPHFS_CONTROLLER, "mon", NULL, NULL, "osd blocklist", false,
     "allow command \"osd blocklist\"", "to fence and unfence clients (NetworkFence)"},
    {CEPHFS_NODE, "mds", "rw", NULL, NULL, true, "allow rw", "to mount"},
    {CEPHFS_NODE, "osd", "rw", NULL, NULL, true, "allow rw tag cephfs *=*",
     "to read and write files"},
};

unsigned caps_role(bool is_cephfs, bool is_for_nodes)
{
    if (is_cephfs)
        return is_for_nodes ? CAPS_CEPHFS_NODE : CAPS_CEPHFS_CONTROLLER;
    return is_for_nodes ? CAPS_RBD_NODE : CAPS_RBD_CONTROLLER;
}

const struct caps_rule *caps_rule(size_t index)
{
    return index < ARRAY_LENGTH(RULES) ? &RULES[index] : NULL;
}

/* The word behind @verb at the beginning of the grant; NULL if it begins otherwise. */
static const char *word_behind(const char *grant, const char *verb)
{
    size_t length = strlen(verb);

    if (strncmp(grant, verb, length) != 0 || (grant[length] != ' ' && grant[length] != '='))
        return NULL;
    grant += length + 1;
    return grant + strspn(grant, " \"'=");
}

/* Ended by one of @ends, or by the end of the text. */
static bool starts_with_word(const char *word, const char *wanted, const char *ends)
{
    size_t length = strlen(wanted);

    return strncmp(word, wanted, length) == 0 &&
           (word[length] == '\0' || strchr(ends, word[length]));
}

static bool word_is(const char *word, const char *wanted)
{
    return starts_with_word(word, wanted, " \"'");
}

static bool grants_letters(const char *word, const char *letters)
{
    size_t length = strspn(word, "rwx");

    if (word_is(word, "*") || word_is(word, "all"))
        return true;
    if (length == 0 || (word[length] != '\0' && word[length] != ' '))
        return false;
    for (; *letters; letters++)
        if (!memchr(word, *letters, length))
            return false;
    return true;
}

/* One of the grants that commas divide. */
static bool grant_meets(const struct caps_rule *rule, const char *grant)
{
    const char *profile = word_behind(grant, "profile");
    const char *allowed = word_behind(grant, "allow");

    if (!profile && allowed) /* "allow profile rbd" is the same */
        profile = word_behind(allowed, "profile");
    if (profile)
        return rule->profile && word_is(profile, rule->profile);
    if (!allowed)
        return false;
    if (word_is(allowed, "*"))
        return true;
    const char *command = word_behind(allowed, "command");
    if (command)
        return rule->command && starts_with_word(command, rule->command, "\"'");
    return rule->letters && grants_letters(allowed, rule->letters);
}

bool caps_rule_is_met(const struct caps_rule *rule, const char *cap)
{
    _cleanup_free_ char *grants = xstrdup(cap);
    char *rest = NULL;

    for (char *grant = strtok_r(grants, ",;", &rest); grant; grant = strtok_r(NULL, ",;", &rest))
        if (grant_meets(rule, text_trim(grant)))
            return true;
    return false;
}
