#include "common/ceph/subvolume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/ceph/subvolume_direct.h"
#include "common/encoding/json.h"

#define QUIESCE_RELEASE "Ceph 19.2 (Squid)"

/* --- one command --- */

/* Sends @command, which it takes over. *@answer (json_decref) is set on success; with NULL the
 * answer is ignored. INTERNAL if it is no JSON. */
static int ask_manager(struct ceph_cluster *cluster, struct call *call, json_t *command,
                       json_t **answer, struct error *err)
{
    json_auto_t *owned = command;
    _cleanup_free_ char *text = json_dumps(owned, JSON_COMPACT);
    _cleanup_free_ char *reply = NULL;

    if (!text)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "a name for a command to the managers is not UTF-8");
    if (cluster->ops->mgr_command(cluster, call, text, &reply, err) < 0 || !reply)
        return -1;
    if (!answer)
        return 0;
    if (json_load_text(reply, strlen(reply), "the managers' answer", answer, err) < 0)
        return error_recode(err, STATUS_INTERNAL);
    return 0;
}

/* Whether the managers are too old to know the command. */
static bool is_unknown_command(const struct error *err)
{
    return err->sys_errno == EINVAL && strstr(err->message, "No handler found");
}

/* Gives an errno of the volumes module the status that it means here. */
static int explain_refusal(const struct subvolume_group *group, struct error *err)
{
    switch (err->sys_errno) {
    case EAGAIN:
        return error_recode(err, STATUS_ABORTED);
    case ENOTEMPTY:
        return error_recode(err, STATUS_FAILED_PRECONDITION);
    case ENOENT: /* also that of the group, which must not look like that of a volume */
        if (!strstr(err->message, "subvolume group '"))
            return -1;
        error_recode(err, STATUS_FAILED_PRECONDITION);
        return error_hint(err,
                          "make it with 'ceph fs subvolumegroup create %s %s', or correct "
                          "cephFS.subvolumeGroup in config.json",
                          group->fs_name, group->name);
    default:
        return -1;
    }
}

/* Sends @command, which it takes over. */
static int send_subvolume_command(const struct subvolume_group *group, struct call *call,
                                  json_t *command, json_t **answer, struct error *err)
{
    json_object_set_new(command, "vol_name", json_string(group->fs_name));
    if (group->name[0])
        json_object_set_new(command, "group_name", json_string(group->name));
    if (ask_manager(group->cluster, call, command, answer, err) < 0)
        return explain_refusal(group, err);
    return 0;
}

static json_t *new_command(const char *prefix, const char *name)
{
    return json_pack("{s:s, s:s, s:s}", "prefix", prefix, "format", "json", "sub_name", name);
}

static json_t *new_snapshot_command(const char *prefix, const char *name, const char *snapshot)
{
    json_t *json = new_command(prefix, name);

    json_object_set_new(json, "snap_name", json_string(snapshot));
    return json;
}

/* What was asked for is so already. */
static int clear_expected(enum status status, struct error *err)
{
    if (err->status != status)
        return -1;
    error_clear(err);
    return 0;
}

/* --- subvolumes --- */

int subvolume_create(const struct subvolume_group *group, struct call *call, const char *name,
                     uint64_t size_bytes, const char *data_pool, struct error *err)
{
    json_t *sent = new_command("fs subvolume create", name);

    if (size_bytes > 0)
        json_object_set_new(sent, "size", json_integer((json_int_t)size_bytes));
    if (data_pool)
        json_object_set_new(sent, "pool_layout", json_string(data_pool));
    json_object_set_new(sent, "namespace_isolated", json_false());
    return send_subvolume_command(group, call, sent, NULL, err);
}

static char *copy_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? xstrdup(text) : NULL;
}

int subvolume_get_facts(const struct subvolume_group *group, struct call *call, const char *name,
                        struct subvolume_facts *facts, struct error *err)
{
    json_auto_t *answer = NULL;
    const int direct = direct_get_facts(group, call, name, facts, err);

    if (direct != LEFT_TO_MANAGER)
        return direct;
    if (send_subvolume_command(group, call, new_command("fs subvolume info", name), &answer, err) <
        0)
        return -1;
    json_int_t quota = json_integer_value(json_object_get(answer, "bytes_quota"));
    *facts = (struct subvolume_facts){
        .path = copy_string(answer, "path"),
        .size_bytes = quota > 0 ? (uint64_t)quota : 0, /* "infinite" is no number */
        .data_pool = copy_string(answer, "data_pool"),
    };
    return 0;
}

void subvolume_facts_done(struct subvolume_facts *facts)
{
    free(facts->path);
    free(facts->data_pool);
    *facts = (struct subvolume_facts){0};
}

int subvolume_resize(const struct subvolume_group *group, struct call *call, const char *name,
                     uint64_t size_bytes, struct error *err)
{
    const int direct = direct_resize(group, call, name, size_bytes, err);

    if (direct != LEFT_TO_MANAGER)
        return direct;
    json_t *sent = new_command("fs subvolume resize", name);
    _cleanup_free_ char *size = xasprintf("%llu", (unsigned long long)size_bytes);
    json_object_set_new(sent, "new_size", json_string(size));
    json_object_set_new(sent, "no_shrink", json_true());
    return send_subvolume_command(group, call, sent, NULL, err);
}

/* @option may be NULL. */
static int remove_subvolume(const struct subvolume_group *group, struct call *call,
                            const char *name, const char *option, struct error *err)
{
    json_t *sent = new_command("fs subvolume rm", name);

    if (option)
        json_object_set_new(sent, option, json_true());
    if (send_subvolume_command(group, call, sent, NULL, err) == 0)
        return 0;
    return clear_expected(STATUS_NOT_FOUND, err);
}

int subvolume_remove(const struct subvolume_group *group, struct call *call, const char *name,
                     struct error *err)
{
    if (remove_subvolume(group, call, name, NULL, err) == 0)
        return 0;
    if (err->sys_errno == EAGAIN) { /* a clone; force, which would also hide a missing group */
        error_clear(err);
        return remove_subvolume(group, call, name, "force", err);
    }
    if (err->sys_errno != ENOTEMPTY)
        return -1;
    error_clear(err);
    if (remove_subvolume(group, call, name, "retain_snapshots", err) == 0)
        return 0;
    if (err->sys_errno == ENOTEMPTY || err->sys_errno == EINVAL || err->sys_errno == EOPNOTSUPP) {
        error_recode(err, STATUS_FAILED_PRECONDITION);
        error_hint(err, "delete its snapshots first");
    }
    return -1;
}

static json_t *new_metadata_command(const char *operation, const char *name, const char *snapshot)
{
    _cleanup_free_ char *prefix =
        xasprintf("fs subvolume %smetadata %s", snapshot ? "snapshot " : "", operation);

    return snapshot ? new_snapshot_command(prefix, name, snapshot) : new_command(prefix, name);
}

/* A manager that is too old to keep metadata has none: *@is_known is false then. */
static int send_metadata_command(const struct subvolume_group *group, struct call *call,
                                 json_t *sent, json_t **answer, bool *is_known, struct error *err)
{
    *is_known = true;
    if (send_subvolume_command(group, call, sent, answer, err) == 0)
        return 0;
    if (!is_unknown_command(err))
        return -1;
    log_v(2, call, "no metadata: %s", err->message);
    error_clear(err);
    *is_known = false;
    return 0;
}

int subvolume_set_metadata(const struct subvolume_group *group, struct call *call, const char *name,
                           const char *snapshot, const struct strmap *entries, struct error *err)
{
    bool is_known = true;

    for (size_t i = 0; i < entries->count && is_known; i++) {
        json_t *sent = new_metadata_command("set", name, snapshot);

        json_object_set_new(sent, "key_name", json_string(entries->entries[i].key));
        json_object_set_new(sent, "value", json_string(entries->entries[i].value));
        if (send_metadata_command(group, call, sent, NULL, &is_known, err) < 0)
            return -1;
    }
    return 0;
}

int subvolume_get_metadata(const struct subvolume_group *group, struct call *call, const char *name,
                           const char *snapshot, struct strmap *entries, struct error *err)
{
    json_auto_t *answer = NULL;
    const char *key = NULL;
    json_t *value = NULL;
    bool is_known = true;
    const int direct = direct_get_metadata(group, call, name, snapshot, entries, err);

    if (direct != LEFT_TO_MANAGER)
        return direct;
    if (send_metadata_command(group, call, new_metadata_command("ls", name, snapshot), &answer,
                              &is_known, err) < 0)
        return -1;
    json_object_foreach(answer, key, value)
    {
        if (json_is_string(value))
            strmap_set(entries, key, json_string_value(value));
    }
    return 0;
}

int subvolume_remove_metadata(const struct subvolume_group *group, struct call *call,
                              const char *name, const char *snapshot,
                              const struct string_list *keys, struct error *err)
{
    bool is_known = true;

    for (size_t i = 0; i < keys->count && is_known; i++) {
        json_t *sent = new_metadata_command("rm", name, snapshot);

        json_object_set_new(sent, "key_name", json_string(keys->items[i]));
        json_object_set_new(sent, "force", json_true());
        if (send_metadata_command(group, call, sent, NULL, &is_known, err) < 0)
            return -1;
    }
    return 0;
}

/* --- snapshots --- */

int subvolume_snapshot_create(const struct subvolume_group *group, struct call *call,
                              const char *name, const char *snapshot, struct error *err)
{
    const int direct = direct_snapshot_create(group, call, name, snapshot, err);

    if (direct != LEFT_TO_MANAGER)
        return direct;
    if (send_subvolume_command(group, call,
                               new_snapshot_command("fs subvolume snapshot create", name, snapshot),
                               NULL, err) == 0)
        return 0;
    return clear_expected(STATUS_ALREADY_EXISTS, err);
}

/* "2026-11-16 06:10:54.477800", UTC. */
static void parse_creation_time(const char *text, struct timespec *time)
{
    struct tm utc = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%d %H:%M:%S", &utc) : NULL;

    *time = (struct timespec){0};
    if (!rest)
        return;
    time->tv_sec = timegm(&utc);
    if (*rest == '.')
        time->tv_nsec = strtol(rest + 1, NULL, 10) % 1000000 * 1000;
}

int subvolume_snapshot_get_facts(const struct subvolume_group *group, struct call *call,
                                 const char *name, const char *snapshot,
                                 struct subvolume_snapshot_facts *facts, struct error *err)
{
    json_auto_t *answer = NULL;
    const int direct = direct_snapshot_get_facts(group, call, name, snapshot, facts, err);

    if (direct != LEFT_TO_MANAGER)
        return direct;
    if (send_subvolume_command(group, call,
                               new_snapshot_command("fs subvolume snapshot info", name, snapshot),
                               &answer, err) < 0)
        return -1;
    const char *pending = json_string_value(json_object_get(answer, "has_pending_clones"));
    parse_creation_time(json_string_value(json_object_get(answer, "created_at")), &facts->created);
    facts->has_pending_clones = pending && strcmp(pending, "yes") == 0;
    facts->orphan_clones =
        (unsigned)json_integer_value(json_object_get(answer, "orphan_clones_count"));
    return 0;
}

/*
 * A manager notes a copy in the index of clones and in the .meta of its source, and at the end
 * takes both back in this order. If it dies in between, the mark in .meta stays: 'snapshot info'
 * calls it an orphan clone, 'snapshot rm' answers EAGAIN for ever, and no command takes it back.
 */
static int explain_orphans(const struct subvolume_group *group, struct call *call, const char *name,
                           const char *snapshot, struct error *err)
{
    _cleanup_error_ struct error unknown = {0};
    struct subvolume_snapshot_facts facts;

    if (subvolume_snapshot_get_facts(group, call, name, snapshot, &facts, &unknown) < 0 ||
        facts.has_pending_clones || facts.orphan_clones == 0)
        return -1; /* as Ceph says */
    return error_hint(
        err,
        "no copy is under way; if this stays, a manager died at the end of a copy and "
        "left %u mark(s), for which no command exists: mount '/' of file system '%s', "
        "and remove from the section [clone snaps] of volumes/%s/%s/.meta the lines "
        "that end in '= %s'",
        facts.orphan_clones, group->fs_name, group->name[0] ? group->name : "_nogroup", name,
        snapshot);
}

int subvolume_snapshot_remove(const struct subvolume_group *group, struct call *call,
                              const char *name, const char *snapshot, struct error *err)
{
    json_t *sent = new_snapshot_command("fs subvolume snapshot rm", name, snapshot);

    json_object_set_new(sent, "force", json_true());
    if (send_subvolume_command(group, call, sent, NULL, err) == 0)
        return 0;
    if (err->sys_errno == EAGAIN)
        return explain_orphans(group, call, name, snapshot, err);
    return clear_expected(STATUS_NOT_FOUND, err);
}

/* --- clones --- */

int subvolume_clone(const struct subvolume_group *group, struct call *call, const char *name,
                    const char *snapshot, const struct subvolume_group *target_group,
                    const char *target, const char *data_pool, struct error *err)
{
    json_t *sent = new_snapshot_command("fs subvolume snapshot clone", name, snapshot);

    json_object_set_new(sent, "target_sub_name", json_string(target));
    if (target_group->name[0])
        json_object_set_new(sent, "target_group_name", json_string(target_group->name));
    if (data_pool)
        json_object_set_new(sent, "pool_layout", json_string(data_pool));
    return send_subvolume_command(group, call, sent, NULL, err);
}

/* The state, why it failed, and how far it is where Ceph says so (from 19 on). */
static char *describe_clone(const char *state, const json_t *status)
{
    const json_t *failure = json_object_get(status, "failure");
    const json_t *progress = json_object_get(status, "progress_report");
    const char *reason = json_string_value(json_object_get(failure, "errstr"));
    const char *percent = json_string_value(json_object_get(progress, "percentage cloned"));

    if (!reason)
        reason = json_string_value(json_object_get(failure, "error_msg"));
    if (reason)
        return xasprintf("%s: %s", state, reason);
    if (percent)
        return xasprintf("%s, %s cloned", state, percent);
    return xstrdup(state);
}

static enum clone_state parse_clone_state(const char *state)
{
    if (strcmp(state, "complete") == 0)
        return CLONE_COMPLETE;
    if (strcmp(state, "failed") == 0 || strcmp(state, "canceled") == 0)
        return CLONE_FAILED;
    return strcmp(state, "pending") == 0 ? CLONE_QUEUED : CLONE_PENDING;
}

static json_t *new_clone_command(const char *prefix, const char *name)
{
    return json_pack("{s:s, s:s, s:s}", "prefix", prefix, "format", "json", "clone_name", name);
}

int subvolume_clone_status(const struct subvolume_group *group, struct call *call, const char *name,
                           struct clone_status *status, struct error *err)
{
    json_auto_t *answer = NULL;
    const int direct = direct_clone_is_complete(group, call, name, err);

    if (direct == 0)
        *status = (struct clone_status){CLONE_COMPLETE, xstrdup("complete")};
    if (direct != LEFT_TO_MANAGER)
        return direct;
    if (send_subvolume_command(group, call, new_clone_command("fs clone status", name), &answer,
                               err) < 0) {
        bool is_missing = err->status == STATUS_NOT_FOUND;

        if (!is_missing && err->sys_errno != EOPNOTSUPP)
            return -1;
        *status = (struct clone_status){.state = is_missing ? CLONE_NONE : CLONE_NO_COPY};
        if (!is_missing)
            status->words = xstrdup("was not begun");
        error_clear(err);
        return 0;
    }
    const json_t *said = json_object_get(answer, "status");
    const char *state = json_string_value(json_object_get(said, "state"));
    if (!state)
        return error_set(err, STATUS_INTERNAL, "the manager did not say the state of clone '%s'",
                         name);
    *status = (struct clone_status){parse_clone_state(state), describe_clone(state, said)};
    return 0;
}

void clone_status_done(struct clone_status *status)
{
    free(status->words);
    *status = (struct clone_status){0};
}

int subvolume_clone_cancel(const struct subvolume_group *group, struct call *call, const char *name,
                           bool *is_lost, struct error *err)
{
    _cleanup_(clone_status_done) struct clone_status status = {0};

    *is_lost = false;
    if (send_subvolume_command(group, call, new_clone_command("fs clone cancel", name), NULL,
                               err) == 0)
        return 0;
    if (err->sys_errno != EINVAL || is_unknown_command(err))
        return -1;
    error_clear(err); /* the same errno if it has ended, which the state tells */
    if (subvolume_clone_status(group, call, name, &status, err) < 0)
        return -1;
    *is_lost = status.state == CLONE_QUEUED;
    return 0;
}

/* --- quiesce --- */

static enum quiesce_state parse_quiesce_state(const char *name)
{
    if (strcmp(name, "QUIESCING") == 0)
        return QUIESCE_PENDING;
    if (strcmp(name, "QUIESCED") == 0)
        return QUIESCE_HOLDS;
    if (strcmp(name, "RELEASING") == 0 || strcmp(name, "RELEASED") == 0)
        return QUIESCE_RELEASED;
    return QUIESCE_OVER; /* failed, timed out, expired, cancelled */
}

static json_t *new_quiesce_command(const struct subvolume_group *group, const char *set_id)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "prefix", "fs quiesce", "format", "json", "vol_name",
                     group->fs_name, "set_id", set_id);
}

/* Sends @command, which it takes over. @state may be NULL. */
static int send_quiesce(const struct subvolume_group *group, struct call *call, json_t *command,
                        const char *set_id, enum quiesce_state *state, struct error *err)
{
    json_auto_t *answer = NULL;

    if (ask_manager(group->cluster, call, command, state ? &answer : NULL, err) < 0) {
        if (err->status == STATUS_DEADLINE_EXCEEDED)
            return error_hint(err,
                              "if an MDS of file system '%s' does not answer 'ceph tell', the "
                              "manager waits for it, and answers nothing about subvolumes until "
                              "'ceph mgr fail'",
                              group->fs_name);
        if (!is_unknown_command(err))
            return -1;
        error_recode(err, STATUS_FAILED_PRECONDITION);
        return error_hint(
            err, "the managers of this cluster cannot pause writers ('fs quiesce'), which "
                 "a snapshot of several volumes needs: upgrade to " QUIESCE_RELEASE " or later");
    }
    if (!state)
        return 0;
    const json_t *set = json_object_get(json_object_get(answer, "sets"), set_id);
    const char *name = json_string_value(json_object_get(json_object_get(set, "state"), "name"));
    if (!name)
        return error_set(err, STATUS_INTERNAL,
                         "the managers did not say the state of quiesce set '%s'", set_id);
    *state = parse_quiesce_state(name);
    return 0;
}

int subvolume_quiesce(const struct subvolume_group *group, struct call *call, const char *set_id,
                      const struct string_list *members, int seconds, enum quiesce_state *state,
                      struct error *err)
{
    json_t *sent = new_quiesce_command(group, set_id);

    if (members) {
        json_object_set_new(sent, "members", json_from_strings(members));
        json_object_set_new(sent, "timeout", json_real(seconds));
        json_object_set_new(sent, "expiration", json_real(seconds));
    }
    return send_quiesce(group, call, sent, set_id, state, err);
}

int subvolume_quiesce_release(const struct subvolume_group *group, struct call *call,
                              const char *set_id, enum quiesce_state *state, struct error *err)
{
    json_t *sent = new_quiesce_command(group, set_id);

    json_object_set_new(sent, "release", json_true());
    if (send_quiesce(group, call, sent, set_id, state, err) == 0)
        return 0;
    if (err->sys_errno != EPERM) /* the answer for a set that does not hold any more */
        return -1;
    error_clear(err);
    *state = QUIESCE_OVER;
    return 0;
}

int subvolume_quiesce_cancel(const struct subvolume_group *group, struct call *call,
                             const char *set_id, struct error *err)
{
    json_t *sent = new_quiesce_command(group, set_id);

    json_object_set_new(sent, "cancel", json_true());
    if (send_quiesce(group, call, sent, set_id, NULL, err) == 0)
        return 0;
    if (err->sys_errno != EPERM) /* the answer for a set that has ended already */
        return clear_expected(STATUS_NOT_FOUND, err);
    error_clear(err);
    return 0;
}
