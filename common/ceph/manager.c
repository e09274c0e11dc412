#include "common/ceph/manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/encoding/json.h"

int manager_ask(struct ceph_cluster *cluster, struct call *call, json_t *command, json_t **answer,
                struct error *err)
{
    json_auto_t *owned = command;
    _cleanup_free_ char *text = json_dumps(owned, JSON_COMPACT);
    _cleanup_free_ char *reply = NULL;

    if (!text)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "a name for a command to the managers is not UTF-8");
    if (cluster->ops->mgr_command(cluster, call, text, &reply, err) < 0 || !reply)
        return -1;
    if (!answer)
        return 0;
    if (json_load_text(reply, strlen(reply), "the managers' answer", answer, err) < 0)
        return error_recode(err, STATUS_INTERNAL);
    return 0;
}

bool manager_lacks_command(const struct error *err)
{
    return err->sys_errno == EINVAL && strstr(err->message, "No handler found");
}
