#include <assert.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/volume/volume_id.h"
#include "tests/fuzz/bytes.h"

/* Handles come from PersistentVolumes, which anybody may write. What is read must be written as it
 * was, but for the version and the case of digits. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = size > 0 ? xstrndup((const char *)data, size) : xstrdup("");
    _cleanup_error_ struct error err = {0};
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    struct volume_id again = {0};
    struct volume_id id = {0};

    if (volume_id_parse(text, &id, &err) < 0) {
        assert(err.status == STATUS_NOT_FOUND && err.message);
        return 0;
    }
    assert(volume_id_cluster_is_valid(id.cluster_id));
    volume_id_format(&id, handle);
    assert(strlen(handle) == strlen(text));
    assert(strcasecmp(handle + 4, text + 4) == 0);
    int status = volume_id_parse(handle, &again, &err);
    assert(status == 0);
    assert(strcmp(id.cluster_id, again.cluster_id) == 0 && id.location_id == again.location_id &&
           strcmp(id.uuid.chars, again.uuid.chars) == 0);
    return 0;
}
