#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* An object of a dump. @kind is what it says it is, else what its list says: "" if neither does.
 * @value is an object, and borrowed. */
typedef int kube_dump_fn(void *context, const char *kind, const json_t *value, struct error *err);

/*
 * Visits the objects of one document as "kubectl get -o json" prints it or the API server sends it:
 * a List, a list of one kind ("PersistentVolumeList"), or a single object. INVALID_ARGUMENT for
 * anything else. Errors, those of @visit as well, begin with the place: "items[3]: ...". Pure.
 */
_must_check_ int kube_dump_each(const json_t *document, kube_dump_fn *visit, void *context,
                                struct error *err);
