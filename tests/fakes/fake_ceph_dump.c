#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "tests/fakes/fake_ceph_state.h"

/*
 * One line per fact, each complete in itself, so that sorting needs no structure and the difference
 * of two dumps reads well:
 *
 *   image rbd//csi-vol-1 id=fa4e00000001 size=1073741824 features=61 order=22
 *   image rbd//csi-vol-1 snapshot [s] user size=1073741824
 *   object rbd/ns/csi.volumes.default [csi.volume.pvc-1] = 1234...
 *
 * A place is POOL/NAMESPACE/NAME; for an image in the trash its id stands for the name.
 */

#define LINE_LIMIT ((size_t)1 << 20)

/* Adds one line; what would break it or cannot be printed is written as \xNN. */
static _printf_(2, 3) void add_line(struct string_list *lines, const char *fmt, ...)
{
    _cleanup_text_ struct text line = TEXT_INIT(LINE_LIMIT);
    va_list args;

    va_start(args, fmt);
    _cleanup_free_ char *raw = xvasprintf(fmt, args);
    va_end(args);
    for (const char *next = raw; *next != '\0'; next++) {
        if (*next < ' ' || *next > '~' || *next == '\\')
            text_addf(&line, "\\x%02x", (unsigned)(unsigned char)*next);
        else
            text_add_bytes(&line, next, 1);
    }
    string_list_add(lines, text_chars(&line));
}

static char *place_of(const struct fake_ceph *fake, int64_t pool_id, const char *rados_namespace,
                      const char *name)
{
    return xasprintf("%s/%s/%s", fake_pool_find_id(fake, pool_id)->name, rados_namespace, name);
}

static void add_pool(struct string_list *lines, const struct fake_pool *pool)
{
    add_line(lines, "pool %s id=%lld", pool->name, (long long)pool->id);
    for (size_t i = 0; i < pool->namespaces.count; i++)
        add_line(lines, "pool %s namespace %s", pool->name, pool->namespaces.items[i]);
}

/* Who made it and when: not the same in two runs, and in two volumes of one run only sometimes. */
static bool key_is_left_out(const char *key)
{
    return strcmp(key, JOURNAL_KEY_MAKERS) == 0 || strcmp(key, JOURNAL_KEY_BEGUN) == 0;
}

static void add_object(struct string_list *lines, const struct fake_ceph *fake,
                       const struct fake_object *object)
{
    _cleanup_free_ char *place =
        place_of(fake, object->pool_id, object->rados_namespace, object->name);

    add_line(lines, "object %s", place);
    for (size_t i = 0; i < object->omap.count; i++)
        if (!key_is_left_out(object->omap.entries[i].key))
            add_line(lines, "object %s [%s] = %s", place, object->omap.entries[i].key,
                     object->omap.entries[i].value);
    for (size_t i = 0; i < object->data_length; i++)
        add_line(lines, "object %s data %zu: %02x", place, i, (unsigned char)object->data[i]);
}

static void add_snapshots(struct string_list *lines, const char *prefix,
                          const struct fake_image *image)
{
    static const char *const kinds[] = {
        [SNAPSHOT_USER] = "user",     [SNAPSHOT_GROUP] = "group", [SNAPSHOT_TRASH] = "trash",
        [SNAPSHOT_MIRROR] = "mirror", [SNAPSHOT_OTHER] = "other",
    };

    for (size_t i = 0; i < image->snapshot_count; i++) {
        const struct fake_snapshot *snapshot = &image->snapshots[i];
        const char *original = snapshot->original_name;

        add_line(lines, "%s snapshot [%s] %s size=%llu%s%s%s%s", prefix, snapshot->name,
                 kinds[snapshot->kind], (unsigned long long)snapshot->size_bytes,
                 original ? " was [" : "", original ? original : "", original ? "]" : "",
                 snapshot->has_parent ? " needs parent" : "");
    }
}

static void add_parent(struct string_list *lines, const char *prefix, const struct fake_ceph *fake,
                       const struct fake_image *image)
{
    const struct fake_image *parent = image->parent;
    _cleanup_free_ char *place =
        place_of(fake, parent->pool_id, parent->rados_namespace, parent->id);

    add_line(lines, "%s parent %s@%s%s", prefix, place,
             fake_snapshot_find_id(parent, image->parent_snapshot_id)->name,
             image->has_parent ? "" : " for snapshots only");
}

static void add_uses(struct string_list *lines, const char *prefix, const struct fake_image *image)
{
    for (size_t i = 0; i < image->metadata.count; i++)
        add_line(lines, "%s metadata [%s] = %s", prefix, image->metadata.entries[i].key,
                 image->metadata.entries[i].value);
    for (size_t i = 0; i < image->watchers.count; i++)
        add_line(lines, "%s watcher %s", prefix, image->watchers.items[i]);
    if (image->holder)
        add_line(lines, "%s is held", prefix);
    if (image->mirroring.is_enabled)
        add_line(lines, "%s is mirrored, %s", prefix,
                 image->mirroring.is_primary ? "primary" : "secondary");
}

static void add_image(struct string_list *lines, const struct fake_ceph *fake,
                      const struct fake_image *image)
{
    _cleanup_free_ char *place = place_of(fake, image->pool_id, image->rados_namespace,
                                          image->in_trash ? image->id : image->name);
    _cleanup_free_ char *prefix = xasprintf("%s %s", image->in_trash ? "trash" : "image", place);
    _cleanup_free_ char *striping =
        image->stripe_unit == 0
            ? xstrdup("")
            : xasprintf(" stripes=%llux%llu", (unsigned long long)image->stripe_unit,
                        (unsigned long long)image->stripe_count);

    add_line(lines, "%s %s=%s size=%llu features=%llu order=%llu%s%s%s", prefix,
             image->in_trash ? "name" : "id", image->in_trash ? image->name : image->id,
             (unsigned long long)image->size_bytes, (unsigned long long)image->features,
             (unsigned long long)image->object_order, striping,
             image->data_pool ? " data_pool=" : "", image->data_pool ? image->data_pool : "");
    add_uses(lines, prefix, image);
    add_snapshots(lines, prefix, image);
    if (image->parent)
        add_parent(lines, prefix, fake, image);
}

static void collect(struct fake_ceph *fake, struct string_list *lines)
{
    pthread_mutex_lock(&fake->lock);
    for (size_t i = 0; i < fake->pool_count; i++)
        add_pool(lines, &fake->pools[i]);
    for (size_t i = 0; i < fake->object_count; i++)
        add_object(lines, fake, &fake->objects[i]);
    for (size_t i = 0; i < fake->image_count; i++)
        add_image(lines, fake, fake->images[i]);
    pthread_mutex_unlock(&fake->lock);
    if (fake->dump_more)
        fake->dump_more(fake->dump_object, lines);
    fake_lines_sort(lines);
}

static void print(const struct string_list *lines, struct text *out)
{
    for (size_t i = 0; i < lines->count; i++) {
        text_add(out, lines->items[i]);
        text_add(out, "\n");
    }
}

void fake_ceph_set_dump(struct fake_ceph *fake, fake_ceph_dump_more more, void *object)
{
    fake->dump_more = more;
    fake->dump_object = object;
}

void fake_ceph_dump(struct fake_ceph *fake, struct text *out)
{
    _cleanup_string_list_ struct string_list lines = {0};

    collect(fake, &lines);
    print(&lines, out);
}

void fake_ceph_dump_normalised(struct fake_ceph *fake, struct text *out)
{
    _cleanup_string_list_ struct string_list lines = {0};

    collect(fake, &lines);
    fake_lines_normalise(&lines);
    print(&lines, out);
}
