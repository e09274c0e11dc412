#include "node/rbd/node_image.h"

#include <string.h>

#include "common/base/backoff.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/volume/client_keys.h"
#include "common/volume/image_clients.h"
#include "common/volume/migration.h"
#include "node/checks.h"

#define WATCH_FIRST_MS 100
#define WATCH_LONGEST_MS 2000

static int open_static(const struct node_volumes *volumes, struct call *call,
                       const struct stage_request *request, struct node_image *image,
                       struct error *err)
{
    const char *cluster_id = strmap_get_or(&request->context, PARAM_CLUSTER_ID, "");
    const char *pool = strmap_get_or(&request->context, PARAM_POOL, "");

    if (!cluster_id[0] || !pool[0])
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "volume_context of a static volume needs clusterID and pool");
    if (session_open(volumes->ceph, volumes->config, call, cluster_id, &request->credentials,
                     &image->session, err) < 0)
        return -1;
    image->cluster = image->session.cluster;
    if (image->cluster->ops->pool_open(image->cluster, call, pool,
                                       session_rbd_namespace(&image->session), &image->own_pool,
                                       err) < 0)
        return -1;
    image->pool = image->own_pool;
    image->config = image->session.cluster_config;
    image->name = strmap_get_or(&request->context, PARAM_IMAGE_NAME, request->handle);
    return 0;
}

static int open_located(const struct node_volumes *volumes, struct call *call,
                        const struct stage_request *request, struct node_image *image,
                        struct error *err)
{
    const struct locator locator = {
        .ceph = volumes->ceph,
        .config = volumes->config,
        .instance_id = volumes->instance_id,
        .mapping_path = volumes->mapping_path,
        .knows_migrated = true,
    };

    if (volume_locate(&locator, call, JOURNAL_VOLUME, request->handle, &request->credentials,
                      &image->located, err) < 0)
        return -1;
    if (!text_is_empty(image->located.entry.kms_id))
        return node_refuse_encrypted(err);
    image->cluster = image->located.session.cluster;
    image->pool = image->located.pool;
    image->config = image->located.session.cluster_config;
    image->name = image->located.entry.image_name;
    return 0;
}

int node_image_open(const struct node_volumes *volumes, struct call *call,
                    const struct stage_request *request, struct node_image *out, struct error *err)
{
    _cleanup_node_image_ struct node_image image = {0};
    bool is_static = false;

    if (node_check_stage(request, &is_static, err) < 0)
        return -1;
    int result = is_static ? open_static(volumes, call, request, &image, err)
                           : open_located(volumes, call, request, &image, err);
    if (result < 0)
        return -1;
    *out = image;
    image = (struct node_image){0};
    return 0;
}

void node_image_close(struct node_image *image)
{
    ceph_pool_close(image->own_pool);
    session_close(&image->session);
    located_done(&image->located);
    *image = (struct node_image){0};
}

/* --- other clients --- */

static int refuse_used(const struct node_image *image, const struct string_list *clients,
                       const char *how, struct error *err)
{
    _cleanup_text_ struct text names = TEXT_INIT(1024);

    for (size_t i = 0; i < clients->count; i++)
        text_addf(&names, "%s%s", i ? ", " : "", clients->items[i]);
    error_set(err, STATUS_FAILED_PRECONDITION, "image '%s' in pool '%s' is still %s by %s",
              image->name, image->pool->name, how, text_chars(&names));
    return error_hint(err, "a volume for one node is not mapped while another client has it");
}

/* A client that died without saying so counts until its watch expires, 30 s by default. */
static int wait_for_watchers(const struct node_volumes *volumes, struct call *call,
                             struct node_image *image, struct error *err)
{
    struct deadline deadline = deadline_in_ms(volumes->watcher_wait_ms);
    struct backoff backoff = BACKOFF_INIT(WATCH_FIRST_MS, WATCH_LONGEST_MS);

    for (;;) {
        _cleanup_string_list_ struct string_list watchers = {0};

        if (image_clients(image->pool, call, image->name, &image->mirroring, &watchers, err) < 0)
            return -1;
        if (watchers.count == 0)
            return 0;
        call_stage(call, "waiting {age} for %s to let go of image '%s'", watchers.items[0],
                   image->name);
        if (deadline_has_passed(deadline) || call_pause(call, backoff_next_ms(&backoff), err) < 0) {
            error_clear(err); /* what was waited for says more */
            return refuse_used(image, &watchers, "open", err);
        }
    }
}

int node_image_check_original(struct call *call, struct node_image *image, struct error *err)
{
    struct ceph_pool *pool = image->pool;
    _cleanup_free_ char *image_id = NULL;

    if (pool->ops->image_get_id(pool, call, image->name, &image_id, err) < 0 ||
        pool->ops->image_get_mirroring(pool, call, image->name, image_id, &image->mirroring, err) <
            0)
        return -1;
    if (!image->mirroring.is_enabled || image->mirroring.is_primary)
        return 0;
    error_set(err, STATUS_FAILED_PRECONDITION,
              "image '%s' in pool '%s' is the copy of one in another cluster", image->name,
              pool->name);
    return error_hint(err, "it can be used here once it is promoted: rbd mirror image promote");
}

int node_image_claim(const struct node_volumes *volumes, struct call *call,
                     struct node_image *image, struct error *err)
{
    _cleanup_string_list_ struct string_list lockers = {0};

    if (wait_for_watchers(volumes, call, image, err) < 0 ||
        image->pool->ops->image_lockers(image->pool, call, image->name, &lockers, err) < 0)
        return -1;
    return lockers.count ? refuse_used(image, &lockers, "locked", err) : 0;
}

int node_image_record(const struct node_volumes *volumes, struct call *call,
                      struct node_image *image, const struct stage_request *request,
                      const struct strmap *metadata, struct error *err)
{
    struct ceph_cluster *cluster = image->cluster;
    const struct client_place place = {
        .handle = image->own_pool || migrated_id_is(request->handle) ? NULL : request->handle};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_free_ char *address = NULL;
    bool is_new = false;

    if (cluster->ops->client_address(cluster, call, &address, err) < 0 ||
        client_keys_fill(&place, volumes->node_id, address, request->credentials.user, &entries,
                         err) < 0)
        return -1;
    for (size_t i = 0; i < entries.count; i++) {
        const char *known = strmap_get(metadata, entries.entries[i].key);

        is_new |= !known || strcmp(known, entries.entries[i].value) != 0;
    }
    return is_new ? image->pool->ops->image_metadata_change(image->pool, call, image->name,
                                                            &entries, NULL, err)
                  : 0;
}
