#include "common/topology/registration.h"

#include <string.h>

int registration_check_labels(const struct strmap *labels, const struct strmap *segments,
                              struct error *err)
{
    for (size_t i = 0; segments && i < segments->count; i++) {
        const struct strmap_entry *segment = &segments->entries[i];
        const char *value = strmap_get(labels, segment->key);

        if (value && strcmp(value, segment->value) != 0)
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "detected topology value collision: driver reported \"%s\":\"%s\" but "
                             "existing label is \"%s\":\"%s\"",
                             segment->key, segment->value, segment->key, value);
    }
    return 0;
}
