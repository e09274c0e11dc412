#include "controller/rbd/qos.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"

static const char *const OPTIONS[] = {
    "rbd_qos_iops_limit",       "rbd_qos_iops_burst",       "rbd_qos_iops_burst_seconds",
    "rbd_qos_bps_limit",        "rbd_qos_bps_burst",        "rbd_qos_bps_burst_seconds",
    "rbd_qos_read_iops_limit",  "rbd_qos_read_iops_burst",  "rbd_qos_read_iops_burst_seconds",
    "rbd_qos_write_iops_limit", "rbd_qos_write_iops_burst", "rbd_qos_write_iops_burst_seconds",
    "rbd_qos_read_bps_limit",   "rbd_qos_read_bps_burst",   "rbd_qos_read_bps_burst_seconds",
    "rbd_qos_write_bps_limit",  "rbd_qos_write_bps_burst",  "rbd_qos_write_bps_burst_seconds",
};

static int check_key(const char *key, struct error *err)
{
    struct nearest nearest = NEAREST_INIT(key);

    for (size_t i = 0; i < ARRAY_LENGTH(OPTIONS); i++) {
        if (strcmp(OPTIONS[i], key) == 0)
            return 0;
        nearest_offer(&nearest, OPTIONS[i]);
    }
    error_set(err, STATUS_INVALID_ARGUMENT,
              "mutable parameter '%s' is not known; possible are rbd_qos_[read_|write_]iops_limit, "
              "rbd_qos_[read_|write_]bps_limit and their _burst and _burst_seconds",
              key);
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
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
