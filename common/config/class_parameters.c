#include "common/config/class_parameters.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/text.h"
#include "common/volume/volume_id.h"

int class_check_cluster(const char *cluster_id, struct error *err)
{
    if (strlen(cluster_id) > VOLUME_ID_CLUSTER_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "clusterID has more than %d bytes and does not fit into a volume handle",
                         VOLUME_ID_CLUSTER_MAX);
    if (!volume_id_cluster_is_valid(cluster_id))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "clusterID has a slash or a control character, which a volume handle "
                         "cannot carry");
    return 0;
}

int class_get_cluster(const struct strmap *parameters, const char **cluster_id, struct error *err)
{
    const char *id = strmap_get_or(parameters, "clusterID", NULL);

    if (!id)
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter clusterID is missing");
    if (class_check_cluster(id, err) < 0)
        return error_wrap(err, "parameters");
    *cluster_id = id;
    return 0;
}

int class_refuse_empty(const struct strmap *parameters, const char *const *keys, size_t count,
                       struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = strmap_get(parameters, keys[i]);

        if (value && value[0] == '\0')
            return error_set(err, STATUS_INVALID_ARGUMENT, "parameter %s is empty", keys[i]);
    }
    return 0;
}

int class_refuse_encryption(const struct strmap *parameters, struct error *err)
{
    const char *value = strmap_get(parameters, "encrypted");
    bool encrypted = false;

    if (value && text_parse_bool(value, &encrypted, err) < 0)
        return error_wrap(err, "encrypted");
    if (encrypted)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "parameter encrypted: this driver does not encrypt volumes; leave it out "
                         "or keep such classes with Ceph-CSI");
    return 0;
}

void class_parameters_to_context(const struct strmap *parameters, struct strmap *context)
{
    for (size_t i = 0; i < parameters->count; i++) {
        const struct strmap_entry *entry = &parameters->entries[i];

        if (!text_has_prefix(entry->key, CLASS_SIDECAR_PREFIX) &&
            strcmp(entry->key, "topologyConstrainedPools") != 0)
            strmap_set(context, entry->key, entry->value);
    }
}
