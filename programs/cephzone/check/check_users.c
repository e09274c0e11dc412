/* The Ceph users of the classes: whether their Secrets can be used, with these libraries, and
 * whether the users may do what the driver does as them. */
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/cephx_key.h"
#include "common/usage/storage_class.h"
#include "programs/cephzone/check/check_caps.h"
#include "programs/cephzone/check/check_internal.h"

static const struct check_caps *find_caps(const struct check_world *world, const char *user)
{
    for (size_t i = 0; i < world->caps_count; i++)
        if (strcmp(world->caps[i].user, user) == 0)
            return &world->caps[i];
    return NULL;
}

static void check_rules(struct check *check, const char *user, const struct check_caps *caps,
                        unsigned roles)
{
    _cleanup_free_ char *object = xasprintf("client.%s", user);

    for (size_t i = 0; caps_rule(i); i++) {
        const struct caps_rule *rule = caps_rule(i);
        const char *cap = strmap_get_or(&caps->caps, rule->daemon, "");

        if (!(rule->roles & roles) || caps_rule_is_met(rule, cap))
            continue;
        _cleanup_free_ char *advice =
            xasprintf("ceph auth caps %s with %s '%s' added, beside what it has", object,
                      rule->daemon, rule->wanted);
        check_add(check, rule->is_needed ? CHECK_FAIL : CHECK_WARN, "caps", object, advice,
                  "%s caps '%s' do not suffice %s", rule->daemon, cap, rule->purpose);
    }
}

static void check_user(struct check *check, const char *user, unsigned roles)
{
    const struct check_world *world = check->world;
    const struct check_caps *caps = find_caps(world, user);
    _cleanup_free_ char *object = xasprintf("client.%s", user);

    if (caps)
        check_rules(check, user, caps, roles);
    else if (world->caps_count > 0)
        check_add(check, CHECK_FAIL, "caps", object,
                  "create the user (docs/install.md), or correct the Secret",
                  "Ceph has no such user");
    else
        check_add(check, CHECK_WARN, "caps", "",
                  "give --caps=FILE with the output of 'ceph auth ls --format json', or --config "
                  "and a --keyring that may run it",
                  "the caps of the Ceph users were not looked at");
}

static void check_secret(struct check *check, const struct check_secret *secret, unsigned roles)
{
    _cleanup_free_ char *object = xasprintf("Secret '%s/%s'", secret->ns, secret->name);
    _cleanup_error_ struct error err = {0};

    if (credentials_check(&secret->credentials, &err) < 0) {
        check_add(check, CHECK_FAIL, "secret", object, "add it: every call would be refused", "%s",
                  err.message);
        return;
    }
    if (cephx_key_check(&secret->credentials.key, check->world->library_version, &err) < 0)
        check_add(check, CHECK_FAIL, "key", object,
                  "change the image or the key before the switch: no volume could be used",
                  "the key of user '%s' cannot be used: %s", secret->credentials.user, err.message);
    check_user(check, secret->credentials.user, roles);
}

static void check_reference(struct check *check, const char *class,
                            const struct check_secret_ref *ref, unsigned roles)
{
    const struct check_secret *secret = check_world_find_secret(check->world, ref->ns, ref->name);
    _cleanup_free_ char *object = xasprintf("Secret '%s/%s'", ref->ns, ref->name);

    if (strstr(ref->name, "${") || strstr(ref->ns, "${"))
        check_add(check, CHECK_WARN, "secret", object, "look at one of them by hand",
                  "differs from claim to claim, and was not looked at (StorageClass '%s')", class);
    else if (!secret && check->world->secret_count == 0)
        check_add(check, CHECK_WARN, "secret", "",
                  "dump the Secrets that the classes name as well, or check the live cluster",
                  "there are no Secrets in the dump: users and keys were not looked at");
    else if (!secret || secret->state == CHECK_SECRET_MISSING)
        check_add(check, CHECK_FAIL, "secret", object, "create it, or correct the class",
                  "StorageClass '%s' names it, but it is not there", class);
    else if (secret->state == CHECK_SECRET_UNREADABLE)
        check_add(check, CHECK_WARN, "secret", object,
                  "let this user 'get' it; the check does not print it", "not looked at: %s",
                  secret->fault);
    else
        check_secret(check, secret, roles);
}

void check_users(struct check *check)
{
    const struct cluster_objects *cluster = &check->world->cluster;

    for (size_t i = 0; i < cluster_count(cluster, KUBE_CLASS); i++) {
        const struct kube_class *class = cluster_at(cluster, KUBE_CLASS, i);
        const char *driver = kube_or_empty(class->provisioner);
        struct check_secret_ref ref;

        if (!storage_class_is_served(driver))
            continue;
        for (size_t k = 0; k < class->parameters.count; k++)
            if (check_secret_ref_at(&class->parameters, k, &ref))
                check_reference(check, class->meta.name, &ref,
                                caps_role(storage_class_is_cephfs(driver), ref.is_for_nodes));
    }
    check_add_pass(check, "secret", "the Secrets of the classes name a user and a key");
    check_add_pass(check, "key", "librados %s can use the keys that were looked at",
                   check->world->library_version);
    check_add_pass(check, "caps", "the Ceph users may do what the driver needs");
}
