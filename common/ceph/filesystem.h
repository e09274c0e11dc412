#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ceph/ceph_ops.h"

/* The file systems of a cluster, as the monitors know them. One command each; any thread. */
struct filesystem {
    int64_t id; /* fscid: the location in a volume handle */
    char *name;
    int64_t metadata_pool_id; /* the journal is there */
    int64_t *data_pool_ids;   /* the first is the default */
    size_t data_pool_count;
};

struct filesystem_list {
    struct filesystem *items;
    size_t count;
};

/* In the order of the fsmap. Caller calls filesystem_list_done(). */
_must_check_ int filesystem_list_read(struct ceph_cluster *cluster, struct call *call,
                                      struct filesystem_list *list, struct error *err);
void filesystem_list_done(struct filesystem_list *list);
#define _cleanup_filesystem_list_ _cleanup_(filesystem_list_done)

/* That of the name, borrowed; NULL with NOT_FOUND, naming those that there are. */
const struct filesystem *filesystem_list_find(const struct filesystem_list *list,
                                              const struct ceph_cluster *cluster, const char *name,
                                              struct error *err);

/* NOT_FOUND, naming those that there are. Caller calls filesystem_done(). */
_must_check_ int filesystem_find_id(struct ceph_cluster *cluster, struct call *call, int64_t id,
                                    struct filesystem *out, struct error *err);

/* Whether files can be kept in that pool. */
bool filesystem_has_data_pool(const struct filesystem *filesystem, int64_t pool_id);

void filesystem_copy(const struct filesystem *from, struct filesystem *to);
/* Safe on a zeroed one. */
void filesystem_done(struct filesystem *filesystem);
