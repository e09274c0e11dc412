#include "common/kube/objects/kube_dump.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

static int visit_one(const json_t *value, const char *item_kind, kube_dump_fn *visit, void *context,
                     struct error *err)
{
    const json_t *kind = json_object_get(value, "kind");

    if (!json_is_object(value))
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected a Kubernetes object");
    if (kind && !json_is_string(kind))
        return error_set(err, STATUS_INVALID_ARGUMENT, "kind: expected a string");
    return visit(context, kind ? json_string_value(kind) : item_kind, value, err);
}

int kube_dump_each(const json_t *document, kube_dump_fn *visit, void *context, struct error *err)
{
    const json_t *items = json_object_get(document, "items");
    const char *kind = json_string_value(json_object_get(document, "kind"));
    _cleanup_free_ char *item_kind = NULL;

    if (!items)
        return visit_one(document, "", visit, context, err);
    if (!json_is_array(items))
        return error_set(err, STATUS_INVALID_ARGUMENT, "items: expected an array");
    /* items of a "PersistentVolumeList" have no kind of their own when the API server lists them */
    if (kind && text_has_suffix(kind, "List"))
        item_kind = xstrndup(kind, strlen(kind) - strlen("List"));
    for (size_t i = 0; i < json_array_size(items); i++)
        if (visit_one(json_array_get(items, i), item_kind ? item_kind : "", visit, context, err) <
            0)
            return error_wrap(err, "items[%zu]", i);
    return 0;
}
