#pragma once

#include "common/volume/locate.h"

/*
 * Volumes and snapshots that Ceph-CSI has encrypted. Their keys are kept for their handles, here or
 * in a KMS: a copy under another handle could not be opened by anybody. This driver does not handle
 * keys, so it copies none of them. Both fail with FAILED_PRECONDITION, saying what would help.
 */

/* By what the journal says. Costs nothing. */
_must_check_ int encrypted_check_entry(const struct located *located, struct error *err);

/* The same for an image, whose metadata say it too. 2 RT. */
_must_check_ int encrypted_check_image(const struct located *located, struct call *call,
                                       struct error *err);
