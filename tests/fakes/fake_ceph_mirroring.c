/* Images that are mirrored. What rbd-mirror would do and say about them is the test's part. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_state.h"

/* Asks a list by the id: of an image that is not there, or not completely, nothing is mirrored. */
static int image_get_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                               const char *image_id, struct image_mirroring *mirroring,
                               struct error *err)
{
    struct fake_step step;
    struct image_mirroring found = {0};

    if (fake_step_begin_in_pool(&step, pool, call, "image_get_mirroring", err) < 0)
        return -1;
    const struct fake_image *image =
        fake_image_find(step.fake, pool->id, pool->rados_namespace, name);
    if (image && strcmp(image->id, image_id) == 0)
        found = image->mirroring;
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *mirroring = found;
    return 0;
}

static int image_disable_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                                   bool force, struct error *err)
{
    struct fake_step step;
    struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_disable_mirroring", name, err);

    if (!image)
        return -1;
    if (image->mirroring.is_enabled && !image->mirroring.is_primary && !force)
        return fake_step_end(&step, fake_refuse(err, -EINVAL, pool, "image", name), err);
    image->mirroring = (struct image_mirroring){0};
    for (size_t i = image->snapshot_count; i > 0; i--)
        if (image->snapshots[i - 1].kind == SNAPSHOT_MIRROR)
            fake_snapshot_drop(step.fake, image, image->snapshots[i - 1].id);
    return fake_step_end(&step, 0, err);
}

static int image_enable_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                                  enum mirroring_mode mode, struct error *err)
{
    struct fake_step step;
    struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_enable_mirroring", name, err);

    (void)mode;
    if (!image)
        return -1;
    if (image->has_parent && !image->parent->mirroring.is_enabled)
        return fake_step_end(&step, fake_refuse(err, -EBUSY, pool, "image", name), err);
    image->mirroring = (struct image_mirroring){.is_enabled = true, .is_primary = true};
    fake_snapshot_add(step.fake, image, ".mirror.primary.1", SNAPSHOT_MIRROR);
    return fake_step_end(&step, 0, err);
}

static int image_promote(struct ceph_pool *pool, struct call *call, const char *name, bool force,
                         struct error *err)
{
    struct fake_step step;
    struct fake_image *image = fake_image_begin(&step, pool, call, "image_promote", name, err);

    if (!image)
        return -1;
    if (image->is_primary_elsewhere && !force)
        return fake_step_end(&step, fake_refuse(err, -EBUSY, pool, "image", name), err);
    image->mirroring.is_primary = true;
    return fake_step_end(&step, 0, err);
}

static int image_demote(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err)
{
    struct fake_step step;
    struct fake_image *image = fake_image_begin(&step, pool, call, "image_demote", name, err);

    if (!image)
        return -1;
    image->mirroring.is_primary = false;
    return fake_step_end(&step, 0, err);
}

/* As if rbd-mirror had done it at once. */
static int image_resync(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err)
{
    struct fake_step step;
    struct fake_image *image = fake_image_begin(&step, pool, call, "image_resync", name, err);

    if (!image)
        return -1;
    fake_image_number(step.fake, image);
    return fake_step_end(&step, 0, err);
}

static int image_mirror_sites(struct ceph_pool *pool, struct call *call, const char *name,
                              struct mirror_sites *sites, struct error *err)
{
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_mirror_sites", name, err);

    if (!image || fake_step_end(&step, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < image->sites.count; i++) {
        struct mirror_site *site = array_add(sites->items, sites->count);

        *site = image->sites.items[i];
        site->description = xstrdup(site->description);
    }
    return 0;
}

void fake_mirroring_ops(struct ceph_ops *ops)
{
    ops->image_get_mirroring = image_get_mirroring;
    ops->image_enable_mirroring = image_enable_mirroring;
    ops->image_disable_mirroring = image_disable_mirroring;
    ops->image_promote = image_promote;
    ops->image_demote = image_demote;
    ops->image_resync = image_resync;
    ops->image_mirror_sites = image_mirror_sites;
}

/* --- what the other cluster and rbd-mirror do --- */

void fake_ceph_mirror(struct fake_ceph *fake, const char *pool, const char *image, bool is_primary)
{
    pthread_mutex_lock(&fake->lock);
    struct fake_image *found = fake_image_named(fake, pool, image);
    found->mirroring = (struct image_mirroring){.is_enabled = true, .is_primary = is_primary};
    fake_snapshot_add(fake, found, is_primary ? ".mirror.primary.1" : ".mirror.non_primary.1",
                      SNAPSHOT_MIRROR);
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_set_primary_elsewhere(struct fake_ceph *fake, const char *pool, const char *image,
                                     bool is_primary_elsewhere)
{
    pthread_mutex_lock(&fake->lock);
    fake_image_named(fake, pool, image)->is_primary_elsewhere = is_primary_elsewhere;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_set_sites(struct fake_ceph *fake, const char *pool, const char *image,
                         const struct mirror_site *sites, size_t count)
{
    pthread_mutex_lock(&fake->lock);
    struct mirror_sites *own = &fake_image_named(fake, pool, image)->sites;
    mirror_sites_done(own);
    for (size_t i = 0; i < count; i++) {
        struct mirror_site *site = array_add(own->items, own->count);

        *site = sites[i];
        site->description = xstrdup(sites[i].description);
    }
    pthread_mutex_unlock(&fake->lock);
}
