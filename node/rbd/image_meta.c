#include "node/rbd/image_meta.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "node/checks.h"

#define OWN_OBJECT "cephzone" /* what Ceph-CSI does not read */
#define VERSION 3             /* as Ceph-CSI writes and does not check */

static const struct json_field FIELDS[] = {
    JSON_FIELD_STRING("pool", struct image_meta, pool),
    JSON_FIELD_STRING("radosNamespace", struct image_meta, rados_namespace),
    JSON_FIELD_STRING("image", struct image_meta, image),
    JSON_FIELD_STRING("unmapOptions", struct image_meta, unmap_options),
    JSON_FIELD_BOOL("accessType", struct image_meta, access_type),
    JSON_FIELD_BOOL("encrypted", struct image_meta, is_encrypted),
    JSON_FIELD_STRING("device", struct image_meta, device),
    JSON_FIELD_STRING("logDir", struct image_meta, log_dir),
    JSON_FIELD_STRING("logFileStrategy", struct image_meta, log_strategy),
    JSON_FIELD_STRING("mapper", struct image_meta, mapper),
    JSON_FIELD_STRING(OWN_OBJECT ".clusterFSID", struct image_meta, fsid),
    JSON_FIELD_STRING(OWN_OBJECT ".imageID", struct image_meta, image_id),
    JSON_FIELD_STRING(OWN_OBJECT ".accessMode", struct image_meta, mode),
    JSON_FIELD_STRMAP(OWN_OBJECT ".volumeContext", struct image_meta, context),
};
static const struct json_table TABLE = JSON_TABLE(struct image_meta, FIELDS);

static json_t *make_own_object(const struct image_meta *meta)
{
    json_t *own = json_pack("{s:s, s:s}", "clusterFSID", meta->fsid, "imageID", meta->image_id);

    if (!own || !meta->mode)
        return own;
    json_object_set_new(own, "accessMode", json_string(meta->mode));
    json_object_set_new(own, "volumeContext", json_from_strmap(&meta->context));
    return own;
}

char *image_meta_print(const struct image_meta *meta)
{
    json_auto_t *json = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:b, s:b, s:s, s:s, s:s}", "Version", VERSION, "pool",
        meta->pool, "radosNamespace", meta->rados_namespace, "image", meta->image, "unmapOptions",
        meta->unmap_options, "accessType", meta->access_type, "encrypted", meta->is_encrypted,
        "device", meta->device, "logDir", meta->log_dir, "logFileStrategy", meta->log_strategy);

    if (json && meta->mapper)
        json_object_set_new(json, "mapper", json_string(meta->mapper));
    if (json && (meta->mode || meta->fsid[0]))
        json_object_set_new(json, OWN_OBJECT, make_own_object(meta));
    return json ? json_dumps(json, JSON_COMPACT) : xstrdup("{}");
}

static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if (*c == '/' || iscntrl((unsigned char)*c))
            return false;
    return true;
}

static int check_names(const struct image_meta *meta, struct error *err)
{
    if (!meta->pool || !meta->pool[0] || !meta->image || !meta->image[0])
        return error_set(err, STATUS_DATA_LOSS, IMAGE_META_FILE " names no pool or no image");
    if (!is_plain(meta->pool) || !is_plain(meta->image) ||
        (meta->rados_namespace && !is_plain(meta->rados_namespace)) ||
        (meta->fsid && !is_plain(meta->fsid)))
        return error_set(err, STATUS_DATA_LOSS,
                         IMAGE_META_FILE " names a pool or an image that cannot exist");
    return 0;
}

int image_meta_parse(const char *text, struct image_meta *meta, struct error *err)
{
    json_auto_t *json = NULL;
    _cleanup_image_meta_ struct image_meta found = {0};
    char **const optional[] = {&found.rados_namespace, &found.unmap_options, &found.device,
                               &found.log_dir,         &found.log_strategy,  &found.fsid,
                               &found.image_id};

    if (json_load_text(text, strlen(text), IMAGE_META_FILE, &json, err) < 0 ||
        json_decode(json, &TABLE, &found, err) < 0)
        return error_recode(err, STATUS_DATA_LOSS);
    if (check_names(&found, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LENGTH(optional); i++)
        if (!*optional[i])
            *optional[i] = xstrdup("");
    *meta = found;
    found = (struct image_meta){0};
    return 0;
}

void image_meta_done(struct image_meta *meta)
{
    json_free_fields(&TABLE, meta);
    *meta = (struct image_meta){0};
}
