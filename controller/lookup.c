#include "controller/lookup.h"

#include "controller/purge.h"

static void resume_purge(void *object, const char *cluster_id,
                         const struct credentials *credentials, struct ceph_pool *pool)
{
    purge_resume(object, cluster_id, credentials, pool);
}

int locate(const struct controller *controller, struct call *call, enum journal_kind kind,
           const char *handle, const struct credentials *credentials, struct located *located,
           struct error *err)
{
    const struct locator locator = {
        .ceph = controller->ceph,
        .config = controller->config,
        .instance_id = controller->instance_id,
        .mapping_path = controller->mapping_path,
        .visited = resume_purge,
        .object = (struct controller *)(uintptr_t)controller,
    };

    return volume_locate(&locator, call, kind, handle, credentials, located, err);
}
