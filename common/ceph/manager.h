#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/ceph/ceph_ops.h"

/* Commands to the managers and their answers, as JSON. Any thread. */

/* Sends @command, which it takes over. *@answer (json_decref) is set on success; with NULL the
 * answer is not looked at. INTERNAL if it is no JSON. */
_must_check_ int manager_ask(struct ceph_cluster *cluster, struct call *call, json_t *command,
                             json_t **answer, struct error *err);

/* Whether a failure means that the managers are too old to know the command. */
bool manager_lacks_command(const struct error *err);
