#include "common/config/cephfs_parameters.h"

#include <stdbool.h>

#include "common/base/text.h"
#include "common/config/class_parameters.h"

int cephfs_parameters_parse(const struct strmap *parameters, struct cephfs_parameters *parsed,
                            struct error *err)
{
    const char *backing = strmap_get(parameters, PARAM_BACKING_SNAPSHOT);
    bool is_shown = false;

    if (class_parameters_check(parameters, CLASS_CEPHFS, err) < 0 ||
        (backing && text_parse_bool(backing, &is_shown, err) < 0))
        return -1;
    *parsed = (struct cephfs_parameters){
        .cluster_id = class_parameter_get(parameters, PARAM_CLUSTER_ID),
        .fs_name = class_parameter_get(parameters, PARAM_FS_NAME),
        .data_pool = class_parameter_get(parameters, PARAM_POOL),
        .name_prefix = class_parameter_get(parameters, PARAM_VOLUME_PREFIX),
        .owner = class_parameter_get(parameters, PARAM_PVC_NAMESPACE),
        .backing = !backing   ? BACKING_BY_MODE
                   : is_shown ? BACKING_SNAPSHOT
                              : BACKING_COPY,
    };
    return 0;
}
