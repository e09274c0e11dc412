#include "common/kube/objects/exclusive_disk.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

static const struct {
    enum exclusive_disk_kind kind;
    const char *source; /* the member of the volume */
    const char *name;   /* the member of the source */
} SOURCES[] = {
    {EXCLUSIVE_GCE, "gcePersistentDisk", "pdName"},
    {EXCLUSIVE_EBS, "awsElasticBlockStore", "volumeID"},
    {EXCLUSIVE_ISCSI, "iscsi", "iqn"},
    {EXCLUSIVE_RBD, "rbd", "image"},
};

static char *text_of(const json_t *member)
{
    const char *text = json_string_value(member);

    return xstrdup(text ? text : "");
}

struct exclusive_disk *exclusive_disk_decode(const json_t *volume)
{
    const json_t *source = NULL;
    size_t at = 0;

    for (; !source && at < ARRAY_LENGTH(SOURCES); at++)
        source = json_object_get(volume, SOURCES[at].source);
    if (!json_is_object(source))
        return NULL;
    struct exclusive_disk *disk = xcalloc(1, sizeof(*disk));
    disk->kind = SOURCES[at - 1].kind;
    disk->name = text_of(json_object_get(source, SOURCES[at - 1].name));
    disk->pool = text_of(json_object_get(source, "pool"));
    disk->is_read_only = json_is_true(json_object_get(source, "readOnly"));
    const json_t *monitors = json_object_get(source, "monitors");
    for (size_t i = 0; i < json_array_size(monitors); i++)
        if (json_is_string(json_array_get(monitors, i)))
            string_list_add(&disk->monitors, json_string_value(json_array_get(monitors, i)));
    return disk;
}

void exclusive_disk_free(struct exclusive_disk *disk)
{
    if (!disk)
        return;
    string_list_done(&disk->monitors);
    free_all(disk->name, disk->pool, disk);
}

static bool share_monitor(const struct exclusive_disk *a, const struct exclusive_disk *b)
{
    for (size_t i = 0; i < a->monitors.count; i++)
        if (string_list_has(&b->monitors, a->monitors.items[i]))
            return true;
    return false;
}

bool exclusive_disk_conflicts(const struct exclusive_disk *a, const struct exclusive_disk *b)
{
    if (a->kind != b->kind || strcmp(a->name, b->name) != 0)
        return false;
    if (a->kind == EXCLUSIVE_RBD && (strcmp(a->pool, b->pool) != 0 || !share_monitor(a, b)))
        return false;
    return a->kind == EXCLUSIVE_EBS || !a->is_read_only || !b->is_read_only;
}
