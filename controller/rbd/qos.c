#include "controller/rbd/qos.h"

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"

static int check_key(const char *key, struct error *err)
{
    const struct class_parameter *parameter = class_parameter_find(key, CLASS_RBD);

    if (parameter && parameter->calls & CLASS_MODIFY_VOLUME)
        return 0;
    error_set(err, STATUS_INVALID_ARGUMENT,
              "mutable parameter '%s' is not known; possible are rbd_qos_[read_|write_]iops_limit, "
              "rbd_qos_[read_|write_]bps_limit and their _burst and _burst_seconds",
              key);
    const char *meant = class_parameter_suggest(key, CLASS_RBD, CLASS_MODIFY_VOLUME);
    return meant ? error_hint(err, "did you mean '%s'?", meant) : -1;
}

int qos_to_metadata(const struct strmap *mutable_parameters, struct strmap *entries,
                    struct string_list *removed, struct error *err)
{
    for (size_t i = 0; i < mutable_parameters->count; i++) {
        const struct strmap_entry *item = &mutable_parameters->entries[i];
        _cleanup_free_ char *name = xasprintf(METADATA_SETTING "%s", item->key);
        uint64_t number = 0;

        if (check_key(item->key, err) < 0)
            return -1;
        if (text_parse_u64(item->value, &number, err) < 0)
            return error_wrap(err, "mutable parameter %s", item->key);
        if (number == 0)
            string_list_add(removed, name);
        else
            strmap_set(entries, name, item->value);
    }
    return 0;
}
