#include "common/volume/volume_id.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Characters besides the cluster id: two 4-digit fields, a 16-digit one, the uuid, four dashes. */
#define FIXED_LENGTH 64
#define CLUSTER_OFFSET 10

void volume_id_format(const struct volume_id *id, char *handle)
{
    size_t cluster_length = strlen(id->cluster_id);

    assert(uuid_text_is_valid(id->uuid.chars));
    assert(volume_id_cluster_is_valid(id->cluster_id));
    snprintf(handle, VOLUME_ID_LENGTH_MAX + 1, "0001-%04hx-%s-%016llx-%s",
             (unsigned short)cluster_length, id->cluster_id, (unsigned long long)id->location_id,
             id->uuid.chars);
}

/* Reads exactly @digits hexadecimal digits, 16 at most. */
static bool parse_hex(const char *text, size_t digits, uint64_t *value)
{
    char number[16 + 1] = {0};

    memcpy(number, text, digits);
    *value = strtoull(number, NULL, 16);
    return strspn(number, "0123456789abcdefABCDEF") == digits;
}

/* The cluster id becomes part of messages and lookups. */
static bool cluster_id_is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)text[i]) || text[i] == '/')
            return false;
    return length > 0;
}

bool volume_id_cluster_is_valid(const char *cluster_id)
{
    size_t length = strlen(cluster_id);

    return length <= VOLUME_ID_CLUSTER_MAX && cluster_id_is_plain(cluster_id, length);
}

static const char *parse_parts(const char *handle, struct volume_id *id)
{
    size_t length = strlen(handle);
    uint64_t version = 0;
    uint64_t cluster_length = 0;

    if (length <= FIXED_LENGTH || length > VOLUME_ID_LENGTH_MAX)
        return "its length is wrong";
    if (!parse_hex(handle, 4, &version) || handle[4] != '-' ||
        !parse_hex(handle + 5, 4, &cluster_length) || handle[9] != '-')
        return "it does not start with two hexadecimal fields";
    if (cluster_length != length - FIXED_LENGTH)
        return "its cluster id has another length than it says";
    const char *tail = handle + CLUSTER_OFFSET + cluster_length;
    if (!cluster_id_is_plain(handle + CLUSTER_OFFSET, cluster_length))
        return "its cluster id has characters that none can have";
    if (tail[0] != '-' || !parse_hex(tail + 1, 16, &id->location_id) || tail[17] != '-')
        return "it has no 16-digit location";
    if (!uuid_text_is_valid(tail + 18))
        return "it does not end in a uuid";
    memcpy(id->cluster_id, handle + CLUSTER_OFFSET, cluster_length);
    id->cluster_id[cluster_length] = '\0';
    memcpy(id->uuid.chars, tail + 18, UUID_LENGTH + 1);
    return NULL;
}

int volume_id_parse(const char *handle, struct volume_id *id, struct error *err)
{
    struct volume_id parsed = {0};
    const char *fault = parse_parts(handle, &parsed);

    if (fault)
        return error_set(err, STATUS_NOT_FOUND, "'%.*s' is not a handle of this driver: %s",
                         VOLUME_ID_LENGTH_MAX, handle, fault);
    *id = parsed;
    return 0;
}
