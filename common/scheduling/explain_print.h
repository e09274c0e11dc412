#pragma once

#include <jansson.h>
#include <stdio.h>

#include "common/scheduling/explain.h"

/* What 'cephzone explain' prints. @is_wide adds Kubernetes' reason and what the claims would get.
 * Pure. */
void explain_print_table(const struct explanation *explanation, bool is_wide, FILE *file);
/* Caller frees with json_decref(). */
json_t *explain_to_json(const struct explanation *explanation);
