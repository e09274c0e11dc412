#include "common/config/cephfs_parameters.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"

#define PREFIX_MAX 128 /* bytes; with a uuid it must be the name of a directory */

int cephfs_prefix_parse(const struct strmap *parameters, const char *key, const char *fallback,
                        const char **prefix, struct error *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *value = strmap_get(parameters, key);

    if (!value)
        value = fallback;
    if (value[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter %s is empty", key);
    if (strlen(value) > PREFIX_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter %s has more than %d bytes", key,
                         PREFIX_MAX);
    if (value[strspn(value, plain)] != '\0' || value[0] == '.')
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "parameter %s: only letters, digits, '.', '_' and '-' can be in the name "
                         "of a subvolume, and no '.' at its beginning",
                         key);
    *prefix = value;
    return 0;
}

static int parse_backing(const struct strmap *parameters, enum backing *backing, struct error *err)
{
    const char *value = strmap_get(parameters, "backingSnapshot");
    bool wanted = false;

    *backing = BACKING_BY_MODE;
    if (!value)
        return 0;
    if (text_parse_bool(value, &wanted, err) < 0)
        return error_wrap(err, "backingSnapshot");
    *backing = wanted ? BACKING_SNAPSHOT : BACKING_COPY;
    return 0;
}

static int check_mounter(const struct strmap *parameters, struct error *err)
{
    const char *mounter = strmap_get(parameters, "mounter");

    if (mounter && strcmp(mounter, "kernel") != 0 && strcmp(mounter, "fuse") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "parameter mounter: '%.64s' is neither 'kernel' nor 'fuse'", mounter);
    return 0;
}

int cephfs_parameters_parse(const struct strmap *parameters, struct cephfs_parameters *parsed,
                            struct error *err)
{
    static const char *const optional[] = {"pool", "mounter", "kernelMountOptions",
                                           "fuseMountOptions", "encryptionType"};
    struct cephfs_parameters result = {
        .fs_name = strmap_get_or(parameters, "fsName", NULL),
        .data_pool = strmap_get_or(parameters, "pool", NULL),
        .owner = strmap_get_or(parameters, CLASS_SIDECAR_PREFIX "pvc/namespace", NULL),
    };

    if (class_get_cluster(parameters, &result.cluster_id, err) < 0)
        return -1;
    if (!result.fs_name && !strmap_get_or(parameters, "topologyConstrainedPools", NULL))
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter fsName is missing");
    if (class_refuse_empty(parameters, optional, ARRAY_LENGTH(optional), err) < 0 ||
        class_refuse_encryption(parameters, err) < 0 || check_mounter(parameters, err) < 0 ||
        cephfs_prefix_parse(parameters, "volumeNamePrefix", IMAGE_PREFIX_VOLUME,
                            &result.name_prefix, err) < 0 ||
        parse_backing(parameters, &result.backing, err) < 0)
        return -1;
    *parsed = result;
    return 0;
}
