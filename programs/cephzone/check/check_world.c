#include "programs/cephzone/check/check_world.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/kube/kube.h"
#include "common/kube/kube_secret.h"
#include "common/kube/objects/kube_dump.h"

#define CEPH_DRIVERS ".csi.ceph.com"

bool check_driver_is_ceph(const char *name)
{
    return text_has_suffix(name, CEPH_DRIVERS);
}

void check_world_done(struct check_world *world)
{
    cluster_done(&world->cluster);
    for (size_t i = 0; i < world->workload_count; i++)
        kube_workload_done(&world->workloads[i]);
    free(world->workloads);
    for (size_t i = 0; i < world->class_count; i++)
        kube_driver_class_done(&world->classes[i]);
    free(world->classes);
    for (size_t i = 0; i < world->secret_count; i++) {
        free_all(world->secrets[i].ns, world->secrets[i].name, world->secrets[i].fault);
        credentials_done(&world->secrets[i].credentials);
    }
    free(world->secrets);
    for (size_t i = 0; i < world->caps_count; i++) {
        free(world->caps[i].user);
        strmap_done(&world->caps[i].caps);
    }
    free(world->caps);
    for (size_t i = 0; i < world->gap_count; i++)
        free_all(world->gaps[i].what, world->gaps[i].reason);
    free(world->gaps);
    *world = (struct check_world){0};
}

void check_world_add_gap(struct check_world *world, const char *what, const char *reason)
{
    struct check_gap *gap = array_add(world->gaps, world->gap_count);

    *gap = (struct check_gap){xstrdup(what), xstrdup(reason)};
}

/* --- Secrets --- */

bool check_secret_ref_at(const struct strmap *parameters, size_t index,
                         struct check_secret_ref *ref)
{
    static const char NAME[] = "-secret-name";
    const struct strmap_entry *entry = &parameters->entries[index];

    if (!text_has_prefix(entry->key, PARAM_SIDECAR) || !text_has_suffix(entry->key, NAME))
        return false;
    _cleanup_free_ char *ns_key =
        xasprintf("%.*s-secret-namespace", (int)(strlen(entry->key) - strlen(NAME)), entry->key);
    *ref = (struct check_secret_ref){
        .ns = strmap_get_or(parameters, ns_key, ""),
        .name = entry->value,
        .is_for_nodes = text_has_prefix(entry->key, PARAM_SIDECAR "node-"),
    };
    return true;
}

const struct check_secret *check_world_find_secret(const struct check_world *world, const char *ns,
                                                   const char *name)
{
    for (size_t i = 0; i < world->secret_count; i++)
        if (strcmp(world->secrets[i].ns, ns) == 0 && strcmp(world->secrets[i].name, name) == 0)
            return &world->secrets[i];
    return NULL;
}

static struct check_secret *add_secret(struct check_world *world, const char *ns, const char *name)
{
    struct check_secret *secret = array_add(world->secrets, world->secret_count);

    secret->ns = xstrdup(ns);
    secret->name = xstrdup(name);
    return secret;
}

static void keep_credentials(const struct kube_secret *entries, struct check_secret *secret)
{
    static const char *const keys[] = CREDENTIALS_SECRET_KEYS;
    struct secret_entry values[ARRAY_LENGTH(keys)];

    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        const struct secret *value = kube_secret_get(entries, keys[i]);

        values[i] = (struct secret_entry){keys[i], value ? secret_reveal(value) : ""};
    }
    credentials_from_secrets(values, ARRAY_LENGTH(values), &secret->credentials);
}

static void mark_unreadable(struct check_secret *secret, struct error *err)
{
    secret->state = CHECK_SECRET_UNREADABLE;
    secret->fault = xstrdup(err->message);
    error_clear(err);
}

/* --- from a dump --- */

static int read_secret(struct check_world *world, const json_t *value, struct error *err)
{
    const char *ns = kube_namespace(value);
    struct check_secret *secret = add_secret(world, ns[0] ? ns : "default", kube_name(value));
    _cleanup_kube_secret_ struct kube_secret entries = {0};

    if (kube_secret_decode((json_t *)(uintptr_t)value, &entries, err) < 0)
        mark_unreadable(secret, err);
    else
        keep_credentials(&entries, secret);
    return 0;
}

static int read_object(void *context, const char *kind, const json_t *value, struct error *err)
{
    struct check_world *world = context;
    const char *api = NULL;

    if (strcmp(kind, "Secret") == 0)
        return read_secret(world, value, err);
    if (kube_workload_resource(kind))
        return kube_workload_decode(kind, value, array_add(world->workloads, world->workload_count),
                                    err);
    if (kube_driver_class_resource(kind, &api))
        return kube_driver_class_decode(kind, value, array_add(world->classes, world->class_count),
                                        err);
    return 0;
}

int check_world_read(void *context, json_t *document, struct error *err)
{
    struct check_world *world = context;
    int result = 0;

    if (cluster_read(&world->cluster, document, err) < 0)
        return -1;
    if (!json_is_array(document))
        return kube_dump_each(document, read_object, world, err);
    for (size_t i = 0; i < json_array_size(document) && result == 0; i++)
        result = kube_dump_each(json_array_get(document, i), read_object, world, err);
    return result;
}

void check_world_settle(struct check_world *world)
{
    cluster_settle(&world->cluster);
}

/* --- live --- */

/* What a list has brought so far. */
struct listing {
    const char *kind;
    const char *api;
    json_t *items;
};

static void start_listing(void *object)
{
    json_array_clear(((struct listing *)object)->items);
}

/* Items of a list do not say what they are. */
static int keep_item(void *object, json_t *item, struct error *err)
{
    struct listing *listing = object;

    (void)err;
    json_object_set_new(item, "kind", json_string(listing->kind));
    json_object_set_new(item, "apiVersion", json_string(listing->api));
    json_array_append(listing->items, item);
    return 0;
}

static int list_kind(struct check_world *world, struct kube *kube, struct call *call,
                     const char *kind, const char *api, const char *resource, struct error *err)
{
    const struct kube_location location = {.api = api, .resource = resource};
    json_auto_t *items = json_array();
    struct listing listing = {kind, api, items};
    const struct kube_list_sink sink = {start_listing, keep_item, &listing};
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *version = NULL;

    if (kube_path(&location, &path, err) < 0 ||
        kube_list(kube, call, path, NULL, &sink, &version, err) < 0)
        return error_wrap(err, "list %s", resource);
    return check_world_read(world, items, err);
}

/* An optional kind: one that the server does not have has no objects, one that may not be listed is
 * a gap. */
static int list_optional(struct check_world *world, struct kube *kube, struct call *call,
                         const char *kind, const char *api, const char *resource, struct error *err)
{
    if (list_kind(world, kube, call, kind, api, resource, err) == 0)
        return 0;
    if (err->status == STATUS_PERMISSION_DENIED)
        check_world_add_gap(world, resource, err->message);
    else if (err->status != STATUS_NOT_FOUND)
        return -1;
    error_clear(err);
    return 0;
}

static int list_objects(struct check_world *world, struct kube *kube, struct call *call,
                        struct error *err)
{
    static const struct {
        enum kube_kind kind;
        bool is_optional;
    } kinds[] = {
        {KUBE_CLASS, false},   {KUBE_CSI_DRIVER, false}, {KUBE_NODE, true},       {KUBE_PV, true},
        {KUBE_CSI_NODE, true}, {KUBE_CAPACITY, true},    {KUBE_ATTACHMENT, true},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        enum kube_kind kind = kinds[i].kind;
        int result = (kinds[i].is_optional ? list_optional : list_kind)(
            world, kube, call, kube_kind_name(kind), kube_kind_api(kind), kube_kind_resource(kind),
            err);

        if (result < 0)
            return -1;
    }
    return 0;
}

static int list_surroundings(struct check_world *world, struct kube *kube, struct call *call,
                             struct error *err)
{
    static const char *const kinds[] = {"Deployment",
                                        "DaemonSet",
                                        "StatefulSet",
                                        "VolumeSnapshotClass",
                                        "VolumeAttributesClass",
                                        "VolumeGroupSnapshotClass"};

    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        const char *api = KUBE_WORKLOAD_API;
        const char *resource = kube_workload_resource(kinds[i]);

        if (!resource)
            resource = kube_driver_class_resource(kinds[i], &api);
        if (list_optional(world, kube, call, kinds[i], api, resource, err) < 0)
            return -1;
    }
    return 0;
}

/* Names with a reference to the claim are different for each claim, and are left out. */
static void fetch_secret(struct check_world *world, struct kube *kube, struct call *call,
                         const struct check_secret_ref *ref)
{
    _cleanup_kube_secret_ struct kube_secret entries = {0};
    _cleanup_error_ struct error err = {0};

    if (strstr(ref->name, "${") || strstr(ref->ns, "${") ||
        check_world_find_secret(world, ref->ns, ref->name))
        return;
    struct check_secret *secret = add_secret(world, ref->ns, ref->name);
    if (kube_secret_read(kube, call, ref->ns, ref->name, &entries, &err) == 0)
        keep_credentials(&entries, secret);
    else if (err.status == STATUS_NOT_FOUND)
        secret->state = CHECK_SECRET_MISSING;
    else
        mark_unreadable(secret, &err);
}

static void fetch_secrets(struct check_world *world, struct kube *kube, struct call *call)
{
    for (size_t i = 0; i < cluster_count(&world->cluster, KUBE_CLASS); i++) {
        const struct kube_class *class = cluster_at(&world->cluster, KUBE_CLASS, i);
        struct check_secret_ref ref;

        if (!check_driver_is_ceph(kube_or_empty(class->provisioner)))
            continue;
        for (size_t k = 0; k < class->parameters.count; k++)
            if (check_secret_ref_at(&class->parameters, k, &ref))
                fetch_secret(world, kube, call, &ref);
    }
}

int check_world_list(struct check_world *world, struct kube *kube, struct call *call,
                     struct error *err)
{
    if (list_objects(world, kube, call, err) < 0 || list_surroundings(world, kube, call, err) < 0)
        return -1;
    check_world_settle(world);
    fetch_secrets(world, kube, call);
    return 0;
}

/* --- Ceph users --- */

static int add_user(struct check_world *world, const json_t *item, struct error *err)
{
    static const char CLIENT[] = "client.";
    const char *entity = json_string_value(json_object_get(item, "entity"));
    json_t *caps = json_object_get(item, "caps");
    const char *daemon = NULL;
    json_t *cap = NULL;

    if (!entity || !json_is_object(caps))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "expected what 'ceph auth ls --format json' prints: a user has no entity "
                         "or no caps");
    if (!text_has_prefix(entity, CLIENT))
        return 0;
    struct check_caps *user = array_add(world->caps, world->caps_count);
    user->user = xstrdup(entity + strlen(CLIENT));
    json_object_foreach(caps, daemon, cap)
    {
        if (json_is_string(cap))
            strmap_set(&user->caps, daemon, json_string_value(cap));
    }
    return 0;
}

int check_world_add_caps(struct check_world *world, const json_t *reply, struct error *err)
{
    const json_t *users = json_object_get(reply, "auth_dump");

    if (!users)
        users = reply;
    if (!json_is_array(users))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "expected what 'ceph auth ls --format json' prints");
    for (size_t i = 0; i < json_array_size(users); i++)
        if (add_user(world, json_array_get(users, i), err) < 0)
            return error_wrap(err, "[%zu]", i);
    return 0;
}
