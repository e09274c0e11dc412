#pragma once

#include <stdint.h>

#include "common/base/network.h"
#include "common/ceph/ceph_ops.h"

/*
 * Clients that the OSDs refuse, by address: what "ceph osd blocklist" keeps. There are two kinds of
 * entries for whole machines: an address ("osd blocklist add 192.0.2.7:0/0") and a range ("osd
 * blocklist range add 192.0.2.0/24"), which may be as small as one address. They are
 * independent: each is removed as it was added. Entries of single clients (192.0.2.7:0/3141), which
 * Ceph adds by itself, are ignored here.
 *
 * Any thread. Each function but the pure ones is one command to the monitors, and each change a new
 * osdmap.
 */
struct blocklist_entry {
    struct network network;
    bool is_range;
    char address[NETWORK_TEXT_MAX]; /* as it was added, with host bits if there were some */
    char *until;                    /* as Ceph writes times; those of one form compare as texts */
};

struct blocklist {
    struct blocklist_entry *items;
    size_t count;
    bool knows_ranges; /* older versions of Ceph do not */
};

#define BLOCKLIST_SECONDS 157784760 /* five years, as long as Ceph-CSI's NetworkFence */
/* Three years, as Ceph-CSI fences by itself: what lasts no longer may be lifted by the node. */
#define BLOCKLIST_NODE_SECONDS 94670856

/* @list is zero; blocklist_done() frees. */
_must_check_ int blocklist_read(struct ceph_cluster *cluster, struct call *call,
                                struct blocklist *list, struct error *err);
/* The same from the answer of the command. Pure. */
_must_check_ int blocklist_decode(const char *reply, struct blocklist *list, struct error *err);
void blocklist_done(struct blocklist *list);
#define _cleanup_blocklist_ _cleanup_(blocklist_done)

/* A year from now, as Ceph writes times: an entry that expires earlier is not permanent. Caller
 * frees. */
char *blocklist_lasting(void);
/* Whether there is such an entry that expires after @until. */
bool blocklist_has(const struct blocklist *list, const struct network *network, bool is_range,
                   const char *until);

/* How long it will stay; -1 if its time cannot be read. By this machine's clock. */
int64_t blocklist_seconds_left(const struct blocklist_entry *entry);

/* Adds an entry. One that is no range must be an address, and gets another time if it is there; the
 * time of a range stays (seen with Ceph 16.2.15). */
_must_check_ int blocklist_add(struct ceph_cluster *cluster, struct call *call,
                               const struct network *network, bool is_range, int seconds,
                               struct error *err);
/* One that is not there is success. */
_must_check_ int blocklist_remove(struct ceph_cluster *cluster, struct call *call,
                                  const struct blocklist_entry *entry, struct error *err);

/* The commands, for those who send them themselves: @operation is "add", for BLOCKLIST_SECONDS, or
 * "rm". Caller frees. */
char *blocklist_command(const char *operation, const struct network *network, bool is_range);
extern const char BLOCKLIST_LIST_COMMAND[];
