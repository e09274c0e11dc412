#pragma once

#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/kube/cluster_nodes.h"
#include "common/kube/kube_ops.h"

/*
 * What takeovers have fenced: the ConfigMap FENCE_NOTES_CONFIGMAP in the namespace of the drivers,
 * where nodes cannot write, and where a note outlives its Node. A key for each driver and node:
 *
 *   data["rbd.csi.ceph.com_node-7"]
 *       {"addresses": ["10.0.0.7"], "releasing": [], "found": [], "bootID": "...",
 *        "systemUUID": "...", "segments": {"zone": "a"}}
 *
 * The blocklists of Ceph have one entry for an address, whoever wants it there. So an address is
 * removed from them by the last note that has it: a note that is done with an address which others
 * have is dropped, and the entry stays theirs. Two drivers that are done at the same time exclude
 * each other by the object's version. "releasing" is written before the entry is removed: whoever
 * wants the address from then on does not count on an entry that is about to go. What was in the
 * blocklists before and was no driver's is "found": it is never removed.
 *
 * Any thread. Errors as in kube_ops.h.
 */
#define FENCE_NOTES_CONFIGMAP "cephzone-fences"

struct fence_note {
    char *driver;
    char *node;
    struct string_list addresses; /* at least one */
    struct string_list releasing; /* of these, those that are being removed from the blocklists */
    struct string_list found;     /* of these, those that somebody else had fenced before */
    char *boot_id;                /* of the node when it was fenced; "" if unknown */
    char *machine;                /* the UUID of its system then; "" if unknown */
    struct strmap segments;       /* level -> value: where it was at home */
};

struct fence_notes {
    struct fence_note *items;
    size_t count;
    char *version; /* of the ConfigMap; NULL: there is none */
};

struct fence_notes_place {
    struct kube *kube; /* all borrowed */
    const char *name_space;
    const char *driver; /* whose notes are written */
};

/* @notes is zero. Of all drivers. Fails if one of them cannot be understood. */
_must_check_ int fence_notes_read(const struct fence_notes_place *place, struct call *call,
                                  struct fence_notes *notes, struct error *err);
void fence_notes_done(struct fence_notes *notes);
#define _cleanup_fence_notes_ _cleanup_(fence_notes_done)

/* A note of another driver that needs the address fenced; NULL if there is none. @driver NULL: of
 * any. Borrowed. */
const struct fence_note *fence_notes_holder(const struct fence_notes *notes, const char *driver,
                                            const char *address);
/* Whether another driver is removing the address from the blocklists. */
bool fence_notes_is_leaving(const struct fence_notes *notes, const char *driver,
                            const char *address);

/* Enters the driver's notes into @nodes. One whose Node is gone becomes a node that is_gone. */
void fence_notes_join(const struct fence_notes *notes, const char *driver,
                      struct cluster_nodes *nodes);

/* Writes down that all addresses of @node will be fenced, which of them are @found (fence_notes_
 * find()), its boot id if it is known, where it is at home and, unless one is written down already,
 * which machine it is. */
_must_check_ int fence_notes_record(const struct fence_notes_place *place, struct call *call,
                                    const struct cluster_node *node,
                                    const struct string_list *found, struct error *err);
/* Adds to @found those addresses of @node, written down or to be, that are in @fenced and that no
 * driver has fenced: no note has them, or only as found. */
void fence_notes_find(const struct fence_notes *notes, const struct cluster_node *node,
                      const struct string_list *fenced, struct string_list *found);
/* Writes down its boot id, because it has rebooted and is not wholly fenced. */
_must_check_ int fence_notes_renew(const struct fence_notes_place *place, struct call *call,
                                   const struct cluster_node *node, struct error *err);
/* Before the address is removed from the blocklists. FAILED_PRECONDITION if another driver needs
 * it. */
_must_check_ int fence_notes_release(const struct fence_notes_place *place, struct call *call,
                                     const char *node, const char *address, struct error *err);
/* Drops the note. @left are addresses that stay in the blocklists for other drivers:
 * FAILED_PRECONDITION if none needs one of them any more. */
_must_check_ int fence_notes_forget(const struct fence_notes_place *place, struct call *call,
                                    const char *node, const struct string_list *left,
                                    struct error *err);
