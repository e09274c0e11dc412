#pragma once

#include "node/rbd/node_image.h"

/*
 * The mapper for a volume: the one that the class names in "mounter", else --mounter, else krbd
 * where the kernel has it and can do the image's features, else nbd. With tryOtherMounters an image
 * whose features krbd lacks goes to nbd. A node without nbd maps with krbd what asks for nbd, as
 * Ceph-CSI does. FAILED_PRECONDITION with the reasons when none can.
 */
_must_check_ int node_choose_mapper(const struct node_volumes *volumes, struct call *call,
                                    struct node_image *image, const struct strmap *context,
                                    const struct mapper **mapper, struct error *err);
