#pragma once

#include "common/ceph/ceph_ops.h"

/* What rbd-mirror's words about an image mean. Pure. */

enum replication_health {
    REPLICATION_UNKNOWN,
    REPLICATION_HEALTHY,
    REPLICATION_DEGRADED,
    REPLICATION_ERROR,
};

struct replication_info {
    int64_t synced_at; /* seconds since 1970: when the last snapshot was taken that has arrived */
    bool has_duration;
    int64_t duration_s;
    int64_t bytes;
    enum replication_health health;
    char *message;
};

void replication_info_done(struct replication_info *info);
#define _cleanup_replication_info_ _cleanup_(replication_info_done)

/* False if nothing has arrived at the site. "replaying,
 * {"local_snapshot_timestamp":1760000000,...}"
 */
_must_check_ bool replication_parse_site(const struct mirror_site *site,
                                         struct replication_info *info);

/* The worst of the other sites, and what it says; caller frees @message. */
enum replication_health replication_judge(const struct mirror_sites *sites, char **message);

/* Every daemon is up and knows of no original: what was written has arrived everywhere. */
_must_check_ bool replication_is_settled(const struct mirror_sites *sites);

/* The site of this cluster; NULL if its daemon has said nothing. */
const struct mirror_site *replication_local_site(const struct mirror_sites *sites);

/* How Ceph-CSI writes down when an image was made: "seconds:1760000000 nanos:12". Caller frees. */
char *replication_format_time(const struct timespec *time);
_must_check_ bool replication_parse_time(const char *text, struct timespec *time);
