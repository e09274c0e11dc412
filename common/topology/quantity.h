#pragma once

#include <stdint.h>

#include "common/base/error.h"

/*
 * A Kubernetes quantity ("10Gi", "1.5G", "100m", "12e6"), exact down to 10^-9: what is finer is
 * rounded up, what is beyond 2^63-1 is that. Pure; any thread.
 */
struct quantity {
    __int128 nano;
};

/* INVALID_ARGUMENT for anything that Kubernetes refuses. */
_must_check_ int quantity_parse(const char *text, struct quantity *quantity, struct error *err);

/* -1, 0 or 1: exact. */
int quantity_compare(const struct quantity *a, const struct quantity *b);

/* The whole number at or above it (below it if negative). */
int64_t quantity_value(const struct quantity *quantity);
