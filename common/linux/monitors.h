#pragma once

#include <stdbool.h>

#include "common/base/text.h"

/*
 * The monitors in the form that the kernel's clients take: "10.0.0.1:6789,10.0.0.2:6789". Pure.
 *
 * The kernel speaks one protocol with all monitors: the first version, unless ms_mode among
 * @options says otherwise. Addresses of the other one are left out; if only those of the second
 * version are there, *@needs_ms_mode says that it has to be asked for.
 */
void kernel_monitors(const char *monitors, const char *options, struct text *addresses,
                     bool *needs_ms_mode);
