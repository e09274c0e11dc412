#include "node/rbd/image_meta.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"

#define VERSION 3 /* as Ceph-CSI writes and does not check */

static const struct json_field FIELDS[] = {
    JSON_FIELD_STRING("pool", struct image_meta, pool),
    JSON_FIELD_STRING("radosNamespace", struct image_meta, rados_namespace),
    JSON_FIELD_STRING("image", struct image_meta, image),
    JSON_FIELD_STRING("unmapOptions", struct image_meta, unmap_options),
    JSON_FIELD_BOOL("accessType", struct image_meta, is_nbd),
    JSON_FIELD_BOOL("encrypted", struct image_meta, is_encrypted),
    JSON_FIELD_STRING("device", struct image_meta, device),
    JSON_FIELD_STRING("logDir", struct image_meta, log_dir),
    JSON_FIELD_STRING("logFileStrategy", struct image_meta, log_strategy),
    JSON_FIELD_STRING("mapper", struct image_meta, mapper),
};
static const struct json_table TABLE = JSON_TABLE(struct image_meta, FIELDS);

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

char *image_meta_print(const struct image_meta *meta)
{
    json_auto_t *json = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:b, s:b, s:s, s:s, s:s}", "Version", VERSION, "pool",
        or_empty(meta->pool), "radosNamespace", or_empty(meta->rados_namespace), "image",
        or_empty(meta->image), "unmapOptions", or_empty(meta->unmap_options), "accessType",
        meta->is_nbd, "encrypted", meta->is_encrypted, "device", or_empty(meta->device), "logDir",
        or_empty(meta->log_dir), "logFileStrategy", or_empty(meta->log_strategy));

    if (json && meta->mapper)
        json_object_set_new(json, "mapper", json_string(meta->mapper));
    return json ? json_dumps(json, JSON_COMPACT) : xstrdup("{}");
}

static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if (*c == '/' || iscntrl((unsigned char)*c))
            return false;
    return true;
}

static void fill(char **member)
{
    if (!*member)
        *member = xstrdup("");
}

static int check(const struct image_meta *meta, struct error *err)
{
    if (!meta->pool || !meta->pool[0] || !meta->image || !meta->image[0])
        return error_set(err, STATUS_DATA_LOSS, IMAGE_META_FILE " names no pool or no image");
    if (!is_plain(meta->pool) || !is_plain(meta->image) ||
        !is_plain(or_empty(meta->rados_namespace)))
        return error_set(err, STATUS_DATA_LOSS,
                         IMAGE_META_FILE " names a pool or an image that cannot exist");
    return 0;
}

int image_meta_parse(const char *text, struct image_meta *meta, struct error *err)
{
    json_auto_t *json = NULL;
    struct image_meta found = {0};

    if (json_load_text(text, strlen(text), IMAGE_META_FILE, &json, err) < 0 ||
        json_decode(json, &TABLE, &found, err) < 0) {
        error_recode(err, STATUS_DATA_LOSS);
        json_free_fields(&TABLE, &found);
        return -1;
    }
    if (check(&found, err) < 0) {
        json_free_fields(&TABLE, &found);
        return -1;
    }
    fill(&found.rados_namespace);
    fill(&found.unmap_options);
    fill(&found.device);
    fill(&found.log_dir);
    fill(&found.log_strategy);
    *meta = found;
    return 0;
}

void image_meta_done(struct image_meta *meta)
{
    json_free_fields(&TABLE, meta);
    *meta = (struct image_meta){0};
}
