/*
 * One moment for several subvolumes: Ceph pauses all that write to them ('fs quiesce') while the
 * snapshots are made. The pause ends by itself; if it ended before the last snapshot was made, the
 * snapshots are of different moments and count for nothing. Its id is in the journal before it
 * begins, so that the retry of an interrupted call can end it.
 */
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "controller/cephfs/cephfs_backend.h"

#define PAUSE_SECONDS 60 /* that writers are kept waiting at most, also if this process dies */
#define PATIENCE_MS 20000
#define POLL_MS 100
#define CANCEL_MS 5000 /* beyond the call's own time */

/* The members in one file system; a cluster may have several. */
struct quiesced {
    struct subvolume_group group;
    struct string_list members;
};

struct quiesce_sets {
    struct quiesced *items;
    size_t count;
    char *id; /* in each of the file systems */
};

static void quiesce_sets_done(struct quiesce_sets *sets)
{
    for (size_t i = 0; i < sets->count; i++)
        string_list_done(&sets->items[i].members);
    free(sets->items);
    free(sets->id);
}

static struct quiesced *find_set(struct quiesce_sets *sets, const struct subvolume_group *group)
{
    for (size_t i = 0; i < sets->count; i++)
        if (strcmp(sets->items[i].group.fs_name, group->fs_name) == 0)
            return &sets->items[i];
    struct quiesced *set = &sets->items[sets->count++];
    set->group = *group;
    return set;
}

static void sort_into_sets(struct snapshot_work *const *works, size_t count,
                           struct quiesce_sets *sets)
{
    sets->items = xcalloc(count, sizeof(*sets->items));
    for (size_t i = 0; i < count; i++) {
        const struct located *source = works[i]->source;
        const struct subvolume_group group = cephfs_group(&source->session, &source->fs);
        _cleanup_free_ char *member = xasprintf("%s/%s", group.name, source->entry.image_name);

        string_list_add(&find_set(sets, &group)->members, member);
    }
}

typedef int snapshot_change(const struct subvolume_group *group, struct call *call,
                            const char *subvolume, const char *snapshot, struct error *err);

/* @change is subvolume_snapshot_create() or subvolume_snapshot_remove(). */
static int change_snapshots(struct snapshot_work *const *works, size_t count,
                            snapshot_change *change, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct located *source = works[i]->source;
        const struct subvolume_group group = cephfs_group(&source->session, &source->fs);

        if (change(&group, works[i]->call, source->entry.image_name, works[i]->entry.image_name,
                   err) < 0)
            return -1;
    }
    return 0;
}

static int await_pause(const struct quiesced *set, const char *id, struct call *call,
                       enum quiesce_state state, struct error *err)
{
    const struct deadline end = deadline_in_ms(PATIENCE_MS);

    while (state == QUIESCE_PENDING && !deadline_has_passed(end))
        if (call_pause(call, POLL_MS, err) < 0 ||
            subvolume_quiesce(&set->group, call, id, NULL, PAUSE_SECONDS, &state, err) < 0)
            return -1;
    if (state == QUIESCE_HOLDS)
        return 0;
    return error_set(
        err, STATUS_ABORTED,
        "the clients of file system '%s' did not pause their writes within %d s; retry",
        set->group.fs_name, PATIENCE_MS / 1000);
}

static int pause_all(const struct quiesce_sets *sets, struct call *call, struct error *err)
{
    for (size_t i = 0; i < sets->count; i++) {
        const struct quiesced *set = &sets->items[i];
        enum quiesce_state state = QUIESCE_OVER;

        if (subvolume_quiesce(&set->group, call, sets->id, &set->members, PAUSE_SECONDS, &state,
                              err) < 0 ||
            await_pause(set, sets->id, call, state, err) < 0)
            return -1;
    }
    return 0;
}

/* Fails unless all pauses held until now. */
static int release_all(const struct quiesce_sets *sets, struct call *call, struct error *err)
{
    for (size_t i = 0; i < sets->count; i++) {
        const struct quiesced *set = &sets->items[i];
        enum quiesce_state state = QUIESCE_OVER;

        if (subvolume_quiesce_release(&set->group, call, sets->id, &state, err) < 0)
            return -1;
        if (state != QUIESCE_RELEASED)
            return error_set(err, STATUS_ABORTED,
                             "the snapshots took longer than the %d s for which writers to file "
                             "system '%s' pause; retry",
                             PAUSE_SECONDS, set->group.fs_name);
    }
    return 0;
}

/* Also when the caller has gone or its time is up: writers would wait for nothing. */
static void cancel_all(const struct quiesce_sets *sets, const char *id, const struct call *failed)
{
    struct call call;

    call_init(&call, failed->id, failed->method, deadline_in_ms(CANCEL_MS));
    for (size_t i = 0; i < sets->count; i++) {
        const struct quiesced *set = &sets->items[i];
        _cleanup_error_ struct error err = {0};

        if (subvolume_quiesce_cancel(&set->group, &call, id, &err) < 0 &&
            err.status != STATUS_FAILED_PRECONDITION)
            log_warn(failed, "writers may pause for up to %d s: %s", PAUSE_SECONDS, err.message);
    }
    call_done(&call);
}

/* Ends the pause of an earlier try, if there was one, and chooses the id of a new one. */
static int begin_set(struct snapshot_work *first, struct quiesce_sets *sets, struct error *err)
{
    const struct uuid_text uuid = uuid_text_generate();
    const char *earlier = strmap_get(&first->entry.extra, CEPHFS_KEY_QUIESCE);
    _cleanup_strmap_ struct strmap chosen = {0};

    if (earlier)
        cancel_all(sets, earlier, first->call);
    sets->id = xasprintf(QUIESCE_SET_PREFIX "%s", uuid.chars);
    strmap_set(&chosen, CEPHFS_KEY_QUIESCE, sets->id);
    strmap_set(&first->entry.extra, CEPHFS_KEY_QUIESCE, sets->id);
    return journal_set(&first->journal, first->call, first->source->pool, &first->entry.uuid,
                       &chosen, err);
}

int cephfs_snapshot_together(struct snapshot_work *const *works, size_t count,
                             struct timespec *moment, struct error *err)
{
    _cleanup_(quiesce_sets_done) struct quiesce_sets sets = {0};
    struct call *call = works[0]->call;

    if (change_snapshots(works, count, subvolume_snapshot_remove, err) < 0)
        return -1;
    sort_into_sets(works, count, &sets);
    if (begin_set(works[0], &sets, err) < 0)
        return -1;
    call_stage(call, "keeping writers from %zu subvolumes for {age}", count);
    int result = pause_all(&sets, call, err);
    clock_gettime(CLOCK_REALTIME, moment);
    if (result == 0)
        result = change_snapshots(works, count, subvolume_snapshot_create, err);
    if (result == 0)
        result = release_all(&sets, call, err);
    if (result < 0)
        cancel_all(&sets, sets.id, call);
    return result;
}
