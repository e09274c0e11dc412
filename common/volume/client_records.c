#include "common/volume/client_records.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/subvolume.h"
#include "common/config/class_parameters.h"
#include "common/volume/client_keys.h"
#include "common/volume/locate.h"
#include "common/volume/migration.h"

static int open_filesystem(void *object, struct call *call, const struct credentials *credentials,
                           struct located *located, struct error *err)
{
    const struct client_records *records = object;

    (void)credentials;
    return located_open_filesystem(located, call, records->cephfs_namespace, err);
}

static int read_located(const struct client_records *records, struct call *call, const char *handle,
                        struct strmap *metadata, struct error *err)
{
    const struct locator locator = {
        .ceph = records->ceph,
        .config = records->config,
        .instance_id = records->instance_id,
        .mapping_path = records->is_cephfs ? NULL : records->mapping_path,
        .open = records->is_cephfs ? open_filesystem : NULL,
        .object = (struct client_records *)(uintptr_t)records,
    };
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_located_ struct located located = {0};
    struct volume_id id;

    if (volume_id_parse(handle, &id, err) < 0 ||
        standing_credentials_get(records->standing, call, id.cluster_id, NULL, &credentials, err) <
            0 ||
        volume_locate(&locator, call, JOURNAL_VOLUME, handle, &credentials, &located, err) < 0)
        return -1;
    const char *name = located.entry.image_name;
    if (!records->is_cephfs)
        return located.pool->ops->image_metadata_get(located.pool, call, name, metadata, err);
    const struct subvolume_group group = {located.session.cluster, located.fs.name,
                                          session_cephfs_group(&located.session)};
    return subvolume_get_metadata(&group, call, name, NULL, metadata, err);
}

/* A volume that somebody made by hand: the PV says where it is. */
static int read_static(const struct client_records *records, struct call *call, const char *handle,
                       const struct strmap *attributes, struct strmap *metadata, struct error *err)
{
    const char *cluster_id = strmap_get_or(attributes, PARAM_CLUSTER_ID, "");
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_session_ struct session session = {0};
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    if (standing_credentials_get(records->standing, call, cluster_id, NULL, &credentials, err) <
            0 ||
        session_open(records->ceph, records->config, call, cluster_id, &credentials, &session,
                     err) < 0 ||
        session.cluster->ops->pool_open(session.cluster, call,
                                        strmap_get_or(attributes, PARAM_POOL, ""),
                                        session_rbd_namespace(&session), &pool, err) < 0)
        return -1;
    return pool->ops->image_metadata_get(
        pool, call, strmap_get_or(attributes, PARAM_IMAGE_NAME, handle), metadata, err);
}

int client_records_read(const struct client_records *records, struct call *call, const char *handle,
                        const struct strmap *attributes, struct strmap *clients, bool *is_there,
                        struct error *err)
{
    _cleanup_strmap_ struct strmap metadata = {0};
    bool is_static = false;

    *is_there = true;
    if (text_parse_bool(strmap_get_or(attributes, PARAM_STATIC_VOLUME, "false"), &is_static, err) <
        0)
        return error_wrap(err, "clients of volume '%s': staticVolume", handle);
    if (migrated_id_is(handle) || (is_static && records->is_cephfs))
        return 0; /* not staged by this driver, or no subvolume that could keep metadata */
    int result = is_static ? read_static(records, call, handle, attributes, &metadata, err)
                           : read_located(records, call, handle, &metadata, err);
    if (result < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return error_wrap(err, "clients of volume '%s'", handle);
        error_clear(err);
        *is_there = false;
        return 0;
    }
    const struct client_place place = {records->is_cephfs, is_static ? NULL : handle};
    if (client_keys_read(&place, &metadata, clients, err) < 0)
        return error_wrap(err, "clients of volume '%s'", handle);
    return 0;
}
