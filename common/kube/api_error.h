#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/base/text.h"

/*
 * Turns a failed answer into an error: @http_status and, if @body is a Status object, its reason
 * and message, by the table in kube_ops.h. @request is "GET /api/v1/nodes/n1". A
 * body that is something else (a proxy's page) is not quoted. Returns -1. Pure.
 */
int api_error_set(struct error *err, const char *request, long http_status,
                  const struct text *body);

/* The same for a Status object in a watch. */
int api_error_from_status(struct error *err, const char *request, const json_t *status);
