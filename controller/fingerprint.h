#pragma once

#include "controller/controller.h"

/*
 * What a volume was asked for, kept beside its journal entry, so that a second request of the same
 * name is distinguished from a retry. Ceph-CSI does not see these keys; its volumes do not have
 * them.
 */

/* Adds the keys for @request and the size that was chosen. */
void fingerprint_write(const struct create_request *request, uint64_t size_bytes,
                       struct strmap *extra);

/* ALREADY_EXISTS, saying what differs, if @extra was written for another request. Does not compare
 * the size. */
_must_check_ int fingerprint_check(const struct create_request *request, const struct strmap *extra,
                                   struct error *err);

/* True if @extra was written by this driver, not by Ceph-CSI. */
bool fingerprint_is_present(const struct strmap *extra);

/* The handle of the volume that it was to be a clone of; NULL if it was to be none. Borrowed. */
const char *fingerprint_source_volume(const struct strmap *extra);

/* The size that was chosen; 0 if it is not recorded. */
uint64_t fingerprint_size(const struct strmap *extra);
