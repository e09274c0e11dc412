/* Clones of subvolumes, and the pause of their writers. */
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_subvolumes_state.h"

/* --- clones --- */

int fake_fs_clone_snapshot(const struct fs_command *command)
{
    const char *target = fake_fs_argument(command, "target_sub_name");
    int result = 0;

    if (!fake_fs_need_snapshot(command, &result))
        return result;
    if (!fake_fs_is_valid_layout(command))
        return fake_fs_refuse(command, -EINVAL, "invalid pool layout -- need a valid data pool");
    if (fake_fs_find_named(command, target))
        return fake_fs_refuse(command, -EEXIST, "subvolume '%s' exists", target);
    if (command->all->refused_clones > 0) {
        command->all->refused_clones--;
        return fake_fs_refuse(command, -EAGAIN,
                              "all cloner threads are busy, please try again later");
    }
    long long size = fake_fs_find(command)->size;
    struct fake_subvolume *clone = fake_fs_add(command, target);
    clone->size = size;
    clone->clone = CLONE_IS_PENDING;
    if (command->all->lost_clones > 0) {
        command->all->lost_clones--;
        clone->clone = CLONE_IS_LOST;
    }
    clone->questions_left = command->all->pace;
    clone->source = xasprintf("%s@%s", fake_fs_argument(command, "sub_name"),
                              fake_fs_argument(command, "snap_name"));
    return 0;
}

/* Time passes with each question. */
static void go_on(struct fake_subvolumes *all, struct fake_subvolume *clone)
{
    if (clone->clone != CLONE_IS_PENDING || clone->questions_left-- > 0)
        return;
    clone->clone = CLONE_IS_DONE;
    if (all->failing_clones > 0) {
        all->failing_clones--;
        clone->clone = CLONE_HAS_FAILED;
    }
}

int fake_fs_clone_status(const struct fs_command *command)
{
    const char *name = fake_fs_argument(command, "clone_name");
    struct fake_subvolume *clone = fake_fs_find_named(command, name);

    if (!clone)
        return fake_fs_missing(command, name);
    if (clone->clone == NO_CLONE)
        return fake_fs_refuse(command, -EOPNOTSUPP,
                              "operation 'clone-status' is not allowed on '%s'", name);
    go_on(command->all, clone);
    if (clone->clone == CLONE_IS_LOST ||
        (clone->clone == CLONE_IS_PENDING && command->all->has_queue))
        text_add(command->reply, "{\"status\":{\"state\":\"pending\"}}");
    else if (clone->clone == CLONE_IS_PENDING)
        text_add(command->reply, "{\"status\":{\"state\":\"in-progress\",\"progress_report\":{"
                                 "\"percentage cloned\":\"41%\"}}}");
    else if (clone->clone == CLONE_IS_DONE)
        text_add(command->reply, "{\"status\":{\"state\":\"complete\"}}");
    else
        text_add(command->reply, "{\"status\":{\"state\":\"failed\",\"failure\":{\"errno\":\"28\","
                                 "\"errstr\":\"No space left on device\"}}}");
    return 0;
}

int fake_fs_cancel_clone(const struct fs_command *command)
{
    const char *name = fake_fs_argument(command, "clone_name");
    struct fake_subvolume *clone = fake_fs_find_named(command, name);

    if (!clone)
        return fake_fs_missing(command, name);
    if (clone->clone == CLONE_IS_LOST)
        return fake_fs_refuse(command, -EINVAL, "error canceling clone");
    if (clone->clone != CLONE_IS_PENDING)
        return fake_fs_refuse(command, -EINVAL,
                              "cannot cancel -- clone finished (check clone status)");
    clone->clone = CLONE_HAS_FAILED;
    return 0;
}

/* --- quiesce --- */

/* The state after this command, given the one before; NULL: it is refused. */
static const char *next_state(const struct fs_command *command, const char *before)
{
    if (json_is_true(json_object_get(command->json, "cancel")))
        return before && strcmp(before, "RELEASED") != 0 ? "CANCELED" : NULL;
    if (json_is_true(json_object_get(command->json, "release")))
        return before && strcmp(before, "QUIESCED") == 0 && !command->all->quiesce_expires
                   ? "RELEASED"
                   : NULL;
    if (!before)
        return json_object_get(command->json, "members") ? "QUIESCING" : NULL;
    return strcmp(before, "QUIESCING") == 0 ? "QUIESCED" : before;
}

int fake_fs_quiesce(const struct fs_command *command)
{
    struct fake_subvolumes *all = command->all;
    const char *set_id = fake_fs_argument(command, "set_id");
    const char *before = strmap_get(&all->quiesce_sets, set_id);

    if (!all->has_quiesce)
        return fake_fs_refuse(command, -EINVAL, "No handler found for 'fs quiesce'");
    const char *state = next_state(command, before);
    if (!state)
        return fake_fs_refuse(command, before ? -EPERM : -ENOENT, "set '%s'", set_id);
    _cleanup_free_ char *copy = xstrdup(state);
    strmap_set(&all->quiesce_sets, set_id, copy);
    text_addf(command->reply, "{\"epoch\":1,\"sets\":{\"%s\":{\"state\":{\"name\":\"%s\"}}}}",
              set_id, copy);
    return 0;
}

/* --- what happens to them --- */

void fake_subvolumes_set_clone_pace(struct fake_subvolumes *all, unsigned questions)
{
    all->pace = questions;
}

void fake_subvolumes_fail_clones(struct fake_subvolumes *all, unsigned count)
{
    all->failing_clones = count;
}

void fake_subvolumes_refuse_clones(struct fake_subvolumes *all, unsigned count)
{
    all->refused_clones = count;
}

void fake_subvolumes_lose_clones(struct fake_subvolumes *all, unsigned count)
{
    all->lost_clones = count;
}

void fake_subvolumes_set_orphans(struct fake_subvolumes *all, unsigned count)
{
    for (size_t i = 0; i < all->count; i++)
        for (size_t j = 0; j < all->items[i].snapshot_count; j++)
            all->items[i].snapshots[j].orphan_clones = count;
}

void fake_subvolumes_queue_clones(struct fake_subvolumes *all)
{
    all->has_queue = true;
}

void fake_subvolumes_break_clones(struct fake_subvolumes *all)
{
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].clone != NO_CLONE) {
            all->items[i].clone = NO_CLONE;
            all->items[i].lacks_meta = true;
            free(TAKE(all->items[i].source));
        }
    pthread_mutex_unlock(&all->lock);
}

void fake_subvolumes_allow_quiesce(struct fake_subvolumes *all, bool expired)
{
    all->has_quiesce = true;
    all->quiesce_expires = expired;
}
