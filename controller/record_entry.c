/*
 * The journal entry of a creation whose name is claimed: written, or adopted from the call that
 * began it, which may be that of another process at the same moment.
 */
#include "common/base/memory.h"
#include "controller/backend.h"
#include "controller/fingerprint.h"
#include "controller/recorded_segments.h"

/* Reads what there is for a name that was claimed before. */
static int read_entry(struct creation *creation, const struct uuid_text *uuid, bool *found,
                      struct error *err)
{
    struct journal_entry *entry = &creation->entry;
    struct journal_entry split = {0};
    bool is_split = false;

    if (journal_read(&creation->journal, creation->call, creation->pool, uuid, entry, found, err) <
        0)
        return -1;
    if (!*found || entry->request_name || creation->pool == creation->directory)
        return 0;
    /* Ceph-CSI 3.0 to 3.10 wrote the attributes beside the directory */
    if (journal_read(&creation->journal, creation->call, creation->directory, uuid, &split,
                     &is_split, err) < 0)
        return -1;
    if (is_split) {
        journal_entry_done(entry);
        *entry = split;
        creation->attributes = creation->directory;
    }
    return 0;
}

struct begun creation_begun(struct creation *creation)
{
    return (struct begun){
        .controller = creation->controller,
        .call = creation->call,
        .journal = &creation->journal,
        .directory = creation->directory,
        .pool = creation->attributes,
        .entry = &creation->entry,
    };
}

static void fill_entry(struct creation *creation, const struct uuid_text *uuid)
{
    const struct begun begun = creation_begun(creation);
    struct journal_entry *entry = &creation->entry;

    journal_entry_done(entry);
    *entry = (struct journal_entry){
        .uuid = *uuid,
        .request_name = xstrdup(creation->request->name),
        .image_name = xasprintf("%s%s", creation->name_prefix, uuid->chars),
        .owner = creation->owner ? xstrdup(creation->owner) : NULL,
        .journal_pool_id = creation->directory->id,
    };
    fingerprint_write(creation->request, creation->size_bytes, &entry->extra);
    if (creation->wants_place)
        segments_write(&creation->place.segments, &entry->extra);
    creation->steps->fill_entry(creation, entry);
    begun_start(&begun, &creation->work);
    begun_write(&begun, creation->work);
}

/* Writes the entry; *@found says that its object is there without attributes, and then that another
 * process, which continues the same reservation, has written it meanwhile. */
static int record_entry(struct creation *creation, const struct uuid_text *uuid, bool *found,
                        struct error *err)
{
    struct journal_entry *entry = &creation->entry;
    const bool is_empty = *found;

    *found = false;
    if (creation->steps->open_source(creation, err) < 0 ||
        creation->steps->settle_place(creation, err) < 0)
        return -1;
    fill_entry(creation, uuid);
    if (is_empty)
        return journal_fill(&creation->journal, creation->call, creation->attributes, entry, err);
    if (journal_write(&creation->journal, creation->call, creation->pool, entry, err) == 0)
        return 0;
    if (err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(err);
    journal_entry_done(entry);
    entry->uuid = *uuid;
    if (read_entry(creation, uuid, found, err) < 0)
        return -1;
    if (!*found)
        return error_set(err, STATUS_ABORTED,
                         "another process wrote and removed the journal entry just now; retry");
    return 0;
}

/* Continues with the entry that an earlier call, or a faster one, wrote. */
static int adopt_entry(struct creation *creation, struct error *err)
{
    const struct controller_backend *backend = controller_backend(creation->controller);
    const struct begun begun = creation_begun(creation);
    struct journal_entry *entry = &creation->entry;

    if (journal_check_name(entry, creation->request->name, err) < 0 ||
        fingerprint_check(creation->request, &entry->extra, err) < 0)
        return -1;
    creation->is_same = true;
    uint64_t recorded = fingerprint_size(&entry->extra);
    if (recorded)
        creation->size_bytes = recorded;
    if (creation->steps->adopt_place(creation, err) < 0)
        return -1;
    if (backend->entry_is_complete(entry))
        return 0;
    begun_start(&begun, &creation->work);
    return begun_join(&begun, creation->work, err);
}

int creation_record(struct creation *creation, const struct uuid_text *uuid, struct error *err)
{
    struct journal_entry *entry = &creation->entry;
    bool found = false;

    entry->uuid = *uuid;
    if (!creation->fresh && read_entry(creation, uuid, &found, err) < 0)
        return -1;
    if (!found || !entry->request_name) {
        creation->is_same = true;
        if (record_entry(creation, uuid, &found, err) < 0)
            return -1;
        if (!found)
            return 0;
        creation->is_same = creation->fresh = false;
    }
    return adopt_entry(creation, err);
}
