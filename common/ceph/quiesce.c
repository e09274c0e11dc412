/* 'fs quiesce': see subvolume.h. */
#include <errno.h>
#include <string.h>

#include "common/ceph/manager.h"
#include "common/ceph/subvolume.h"

#define RELEASE_NEEDED "Ceph 19.2 (Squid)"

static int explain(struct error *err)
{
    if (!manager_lacks_command(err))
        return -1;
    error_recode(err, STATUS_FAILED_PRECONDITION);
    return error_hint(err,
                      "the managers of this cluster cannot pause writers ('fs quiesce'), which a "
                      "snapshot of several volumes needs: upgrade to " RELEASE_NEEDED " or later");
}

static enum quiesce_state state_of(const char *name)
{
    static const struct {
        const char *name;
        enum quiesce_state state;
    } states[] = {
        {"QUIESCING", QUIESCE_PENDING},
        {"QUIESCED", QUIESCE_HOLDS},
        {"RELEASING", QUIESCE_RELEASED},
        {"RELEASED", QUIESCE_RELEASED},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(states); i++)
        if (strcmp(states[i].name, name) == 0)
            return states[i].state;
    return QUIESCE_OVER; /* failed, timed out, expired, cancelled */
}

static int read_state(const json_t *answer, const char *set_id, enum quiesce_state *state,
                      struct error *err)
{
    const json_t *set = json_object_get(json_object_get(answer, "sets"), set_id);
    const char *name = json_string_value(json_object_get(json_object_get(set, "state"), "name"));

    if (!name)
        return error_set(err, STATUS_INTERNAL,
                         "the managers did not say the state of quiesce set '%s'", set_id);
    *state = state_of(name);
    return 0;
}

static json_t *command(const struct subvolume_group *group, const char *set_id)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "prefix", "fs quiesce", "format", "json", "vol_name",
                     group->fs_name, "set_id", set_id);
}

/* Sends @sent, which it takes over. */
static int ask(const struct subvolume_group *group, struct call *call, json_t *sent,
               json_t **answer, struct error *err)
{
    if (manager_ask(group->cluster, call, sent, answer, err) < 0)
        return explain(err);
    return 0;
}

int subvolume_quiesce(const struct subvolume_group *group, struct call *call, const char *set_id,
                      const struct string_list *members, int seconds, enum quiesce_state *state,
                      struct error *err)
{
    json_t *sent = command(group, set_id);
    json_auto_t *answer = NULL;

    if (members) {
        json_t *list = json_array();

        for (size_t i = 0; i < members->count; i++)
            json_array_append_new(list, json_string(members->items[i]));
        json_object_set_new(sent, "members", list);
        json_object_set_new(sent, "timeout", json_real(seconds));
        json_object_set_new(sent, "expiration", json_real(seconds));
    }
    if (ask(group, call, sent, &answer, err) < 0)
        return -1;
    return read_state(answer, set_id, state, err);
}

int subvolume_quiesce_release(const struct subvolume_group *group, struct call *call,
                              const char *set_id, enum quiesce_state *state, struct error *err)
{
    json_t *sent = command(group, set_id);
    json_auto_t *answer = NULL;

    json_object_set_new(sent, "release", json_true());
    if (ask(group, call, sent, &answer, err) == 0)
        return read_state(answer, set_id, state, err);
    if (err->sys_errno != EPERM) /* what it says of one that does not hold any more */
        return -1;
    error_clear(err);
    *state = QUIESCE_OVER;
    return 0;
}

int subvolume_quiesce_cancel(const struct subvolume_group *group, struct call *call,
                             const char *set_id, struct error *err)
{
    json_t *sent = command(group, set_id);

    json_object_set_new(sent, "cancel", json_true());
    if (ask(group, call, sent, NULL, err) == 0)
        return 0;
    if (err->status != STATUS_NOT_FOUND)
        return -1;
    error_clear(err);
    return 0;
}
