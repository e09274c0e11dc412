#include "common/ceph/ceph_ops.h"

#include <stdlib.h>

#include "common/base/memory.h"

void object_state_done(struct object_state *state)
{
    free(state->data);
    free(state->attribute);
    strmap_done(&state->omap);
    *state = (struct object_state){0};
}

void mirror_sites_done(struct mirror_sites *sites)
{
    for (size_t i = 0; i < sites->count; i++)
        free(sites->items[i].description);
    free(sites->items);
    *sites = (struct mirror_sites){0};
}

void image_facts_done(struct image_facts *facts)
{
    free_all(facts->id, facts->data_pool, facts->parent.rados_namespace, facts->parent.image_name);
    *facts = (struct image_facts){0};
}

void image_snapshots_done(struct image_snapshots *snapshots)
{
    for (size_t i = 0; i < snapshots->count; i++)
        free_all(snapshots->items[i].name, snapshots->items[i].original_name);
    free(snapshots->items);
    *snapshots = (struct image_snapshots){0};
}

void worker_answers_done(struct worker_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        free(answers->items[i].stage);
    free(answers->items);
    *answers = (struct worker_answers){0};
}

const struct worker_answer *worker_answers_find(const struct worker_answers *answers,
                                                uint64_t worker)
{
    const struct worker_answer *found = NULL;

    /* a client may watch twice for a while: busy is what counts, then that it answered at all */
    for (size_t i = 0; i < answers->count; i++) {
        const struct worker_answer *item = &answers->items[i];

        if (item->worker == worker &&
            (!found || item->state == WORKER_BUSY || found->state == WORKER_SILENT))
            found = item;
    }
    return found;
}

void trash_entries_done(struct trash_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        free_all(entries->items[i].id, entries->items[i].name);
    free(entries->items);
    *entries = (struct trash_entries){0};
}
