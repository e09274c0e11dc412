#pragma once

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"

/*
 * Mutable parameters: librbd's limits on I/O, by the names of its options (rbd_qos_iops_limit,
 * rbd_qos_write_bps_burst, ...), kept in the image's metadata as conf_NAME, where librbd looks for
 * them. "0" lifts a limit. INVALID_ARGUMENT for any other key or value; nothing is changed then.
 */
_must_check_ int qos_to_metadata(const struct strmap *mutable_parameters, struct strmap *entries,
                                 struct string_list *removed, struct error *err);
