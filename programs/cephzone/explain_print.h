#pragma once

#include <stdio.h>

#include "common/scheduling/explain.h"

/* What 'cephzone explain' prints. @is_wide adds Kubernetes' reason and what the claims would get.
 */
void explain_print_table(const struct explanation *explanation, bool is_wide, FILE *file);
void explain_print_json(const struct explanation *explanation, FILE *file);
