#pragma once

#include "controller/controller.h"

/*
 * Who began to make a volume or snapshot, and when: kept in its journal entry until it is complete,
 * so that what an interrupted call left is distinguished from what another process is making now.
 */
void begun_write(const struct controller *controller, struct strmap *extra);

/* Whether this driver, not Ceph-CSI, began. */
bool begun_is_written(const struct strmap *extra);

/* ABORTED while another process may be making the image. */
_must_check_ int begun_check_abandoned(const struct controller *controller,
                                       const struct strmap *extra, const char *image,
                                       const char *pool, struct error *err);
