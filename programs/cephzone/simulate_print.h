#pragma once

#include <stdio.h>

#include "common/scheduling/simulation/simulate.h"

/* What 'cephzone simulate' prints. */
void simulate_print_table(const struct simulation *simulation, bool is_wide, FILE *file);
void simulate_print_json(const struct simulation *simulation, FILE *file);
/* A picture: each place with its free space before and after. */
void simulate_print_svg(const struct simulation *simulation, FILE *file);
