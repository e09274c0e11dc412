#include "controller/snapshot_steps.h"

#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "controller/backend.h"

void handle_format(const struct volume_id *like, const struct uuid_text *uuid, char *handle)
{
    struct volume_id id = *like;

    id.uuid = *uuid;
    volume_id_format(&id, handle);
}

static int check_source(const struct snapshot_work *work, struct error *err)
{
    const char *wanted = work->source->entry.image_name;
    const char *recorded = work->entry.source ? work->entry.source : "";

    if (strcmp(recorded, wanted) != 0)
        return error_set(err, STATUS_ALREADY_EXISTS,
                         "a snapshot of that name exists, of image '%s'; asked for is one of '%s'",
                         recorded, wanted);
    return 0;
}

struct begun snapshot_begun(struct snapshot_work *work)
{
    return (struct begun){
        .controller = work->controller,
        .call = work->call,
        .journal = &work->journal,
        .directory = work->source->pool,
        .pool = work->source->pool,
        .entry = &work->entry,
    };
}

/* Writes the entry; *@found says that its object is there without attributes, and then that another
 * process, which continues the same reservation, has written it meanwhile. */
static int record(struct snapshot_work *work, const char *name, const char *name_prefix,
                  const char *group_handle, bool *found, struct error *err)
{
    struct located *source = work->source;
    const struct uuid_text uuid = work->entry.uuid;
    const struct begun begun = snapshot_begun(work);
    const bool is_empty = *found;

    *found = false;
    journal_entry_done(&work->entry);
    work->entry = (struct journal_entry){
        .uuid = uuid,
        .request_name = xstrdup(name),
        .image_name = xasprintf("%s%s", name_prefix, uuid.chars),
        .source = xstrdup(source->entry.image_name),
        .owner = source->entry.owner ? xstrdup(source->entry.owner) : NULL,
        .group_id = group_handle ? xstrdup(group_handle) : NULL,
        .journal_pool_id = -1,
    };
    strmap_set(&work->entry.extra, JOURNAL_KEY_SOURCE_HANDLE, source->handle);
    begun_start(&begun, &work->work);
    begun_write(&begun, work->work);
    if (is_empty)
        return journal_fill(&work->journal, work->call, source->pool, &work->entry, err);
    if (journal_write(&work->journal, work->call, source->pool, &work->entry, err) == 0)
        return 0;
    if (err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(err);
    journal_entry_done(&work->entry);
    work->entry.uuid = uuid;
    if (journal_read(&work->journal, work->call, source->pool, &uuid, &work->entry, found, err) < 0)
        return -1;
    if (!*found)
        return error_set(err, STATUS_ABORTED,
                         "another process wrote and removed the journal entry just now; retry");
    return 0;
}

/* Continues with the entry that an earlier call, or a faster one, wrote. */
static int adopt(struct snapshot_work *work, const char *name, struct error *err)
{
    const struct begun begun = snapshot_begun(work);

    if (journal_check_name(&work->entry, name, err) < 0 || check_source(work, err) < 0)
        return -1;
    work->is_same = true;
    if (controller_backend(work->controller)->entry_is_complete(&work->entry))
        return 0;
    begun_start(&begun, &work->work);
    return begun_join(&begun, work->work, err);
}

int snapshot_reserve(struct snapshot_work *work, const char *name, const char *name_prefix,
                     const char *group_handle, bool *fresh, struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    struct journal_ref ref;
    bool found = false;

    if (journal_claim(&work->journal, work->call, pool, name, pool->id, &ref, fresh, err) < 0)
        return -1;
    work->entry.uuid = ref.uuid;
    if (!*fresh &&
        journal_read(&work->journal, work->call, pool, &ref.uuid, &work->entry, &found, err) < 0)
        return -1;
    if (!found || !work->entry.request_name) {
        work->is_same = true;
        if (record(work, name, name_prefix, group_handle, &found, err) < 0)
            return -1;
        if (!found)
            return 0;
        work->is_same = *fresh = false;
    }
    return adopt(work, name, err);
}

void snapshot_work_done(struct snapshot_work *work)
{
    ceph_work_end(work->work);
    journal_entry_done(&work->entry);
}

void snapshot_format_source(const struct located *located, char *handle)
{
    const char *recorded = strmap_get(&located->entry.extra, JOURNAL_KEY_SOURCE_HANDLE);
    const char *source = located->entry.source ? located->entry.source : "";
    struct uuid_text uuid;

    handle[0] = '\0';
    if (recorded)
        snprintf(handle, VOLUME_ID_LENGTH_MAX + 1, "%s", recorded);
    else if (uuid_text_at_end(source, strlen(source), &uuid))
        handle_format(&located->id, &uuid, handle);
}
