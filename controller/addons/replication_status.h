#pragma once

#include "common/ceph/ceph_ops.h"
#include "controller/addons/replication.h"

/* What rbd-mirror's words about an image mean. Pure. */

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
