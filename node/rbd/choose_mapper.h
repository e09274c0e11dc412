#pragma once

#include "node/rbd/node_image.h"

/*
 * The mapper for a volume: the one that the class names in "mounter", else --mounter, else the
 * default one. Where that cannot map the image, its substitute does, if no mounter was named, with
 * tryOtherMounters, or where Ceph-CSI does so without asking. INVALID_ARGUMENT for a mounter that
 * is unknown, FAILED_PRECONDITION with the reasons when none can.
 */
_must_check_ int node_choose_mapper(const struct node_volumes *volumes, struct call *call,
                                    const struct node_image *image,
                                    const struct stage_request *request,
                                    const struct mapper **mapper, struct error *err);
