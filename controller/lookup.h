#pragma once

#include "common/volume/locate.h"
#include "controller/controller.h"

/* A place that may have a journal: a pool, and for CephFS the file system whose metadata it holds.
 */
struct location {
    int64_t pool_id;
    struct filesystem fs;
};

struct location_list {
    struct location *items;
    size_t count;
};

void location_list_done(struct location_list *list);

/* volume_locate() with what the controller knows of its kind of volumes. */
_must_check_ int locate(const struct controller *controller, struct call *call,
                        enum journal_kind kind, const char *handle,
                        const struct credentials *credentials, struct located *located,
                        struct error *err);
