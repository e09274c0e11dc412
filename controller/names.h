#pragma once

#include "common/base/error.h"

/* Checks a request name by CSI's rules: not empty, at most 128 bytes, no control characters but
 * tab, newline and carriage return. INVALID_ARGUMENT. */
_must_check_ int request_name_check(const char *name, struct error *err);
