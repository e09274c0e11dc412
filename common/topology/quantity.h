#pragma once

#include <stdint.h>

#include "common/base/error.h"

/*
 * A Kubernetes quantity ("10Gi", "1.5G", "100m", "12e6"), exact down to 10^-9: what is finer is
 * rounded away from zero. With a binary suffix 2^63-1 is the largest, as in Kubernetes; otherwise
 * 10^29, where Kubernetes has no limit. Pure; any thread.
 */
struct quantity {
    __int128 nano;
};

/* INVALID_ARGUMENT for what Kubernetes refuses, and for a number without a digit (".", "k"), which
 * Kubernetes reads as 0 but never writes. */
_must_check_ int quantity_parse(const char *text, struct quantity *quantity, struct error *err);

/* -1, 0 or 1: exact. */
int quantity_compare(const struct quantity *a, const struct quantity *b);

/* The whole number at or above it (at or below it if negative), as far as 64 bits go. */
int64_t quantity_value(const struct quantity *quantity);
