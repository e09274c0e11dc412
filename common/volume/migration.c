#include "common/volume/migration.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#define MONITORS "mig_mons-"
#define IMAGE "_image-"
#define QUOTED_MAX 128 /* of a bad handle, in messages */

bool migrated_id_is(const char *handle)
{
    return text_has_prefix(handle, MONITORS);
}

/* Decodes the whole of @hex into a name; false if it is not one. */
static bool parse_pool(const char *hex, char *pool)
{
    size_t length = strlen(hex);

    if (length == 0 || length % 2 != 0 || length / 2 > MIGRATED_POOL_MAX ||
        strspn(hex, "0123456789abcdef") != length)
        return false;
    for (size_t i = 0; i < length / 2; i++) {
        const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};

        pool[i] = (char)strtoul(digits, NULL, 16);
        if (iscntrl((unsigned char)pool[i]) || pool[i] == '/')
            return false;
    }
    pool[length / 2] = '\0';
    return true;
}

static const char *parse_migrated(const char *handle, struct migrated_id *id)
{
    struct uuid_text uuid = {0};

    if (!migrated_id_is(handle))
        return "it does not begin with '" MONITORS "'";
    const char *cluster = handle + strlen(MONITORS);
    size_t cluster_length = strcspn(cluster, "_");
    if (cluster_length > VOLUME_ID_CLUSTER_MAX)
        return "its cluster id is too long";
    memcpy(id->cluster_id, cluster, cluster_length);
    if (!volume_id_cluster_is_valid(id->cluster_id))
        return "its cluster id has characters that none can have";
    const char *image = cluster + cluster_length;
    if (!text_has_prefix(image, IMAGE))
        return "it has no '" IMAGE "'";
    image += strlen(IMAGE);
    memcpy(uuid.chars, image, strnlen(image, UUID_LENGTH));
    if (strcspn(image, "_") != UUID_LENGTH || !uuid_text_is_valid(uuid.chars))
        return "its image is not a uuid";
    snprintf(id->image_name, sizeof(id->image_name), MIGRATED_IMAGE_PREFIX "%s", uuid.chars);
    if (image[UUID_LENGTH] != '_' || !parse_pool(image + UUID_LENGTH + 1, id->pool))
        return "it does not end in the name of a pool in hexadecimal";
    return NULL;
}

int migrated_id_parse(const char *handle, struct migrated_id *id, struct error *err)
{
    struct migrated_id parsed = {0};
    const char *fault = parse_migrated(handle, &parsed);

    if (fault)
        return error_set(err, STATUS_NOT_FOUND, "'%.*s' is not the handle of a migrated volume: %s",
                         QUOTED_MAX, handle, fault);
    *id = parsed;
    return 0;
}
