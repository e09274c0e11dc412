#pragma once

#include "common/base/strmap.h"
#include "common/ceph/ceph_ops.h"

/* What a VolumeReplicationClass says, by the names of Ceph-CSI. Strings are borrowed from the
 * parameters. */
struct replication_class {
    enum mirroring_mode mode; /* mirroringMode: snapshot, or journal */
    const char *interval;     /* schedulingInterval: "15m", "1h", "1d"; NULL: no schedule */
    const char *start_time;   /* schedulingStartTime: ISO 8601; NULL: none */
    bool flattens;            /* flattenMode: force, or never */
    bool forces;              /* force: true, or false; for disabling */
};

/* INVALID_ARGUMENT, naming what is allowed. What else is in the parameters is somebody else's. */
_must_check_ int replication_class_parse(const struct strmap *parameters,
                                         struct replication_class *class, struct error *err);
