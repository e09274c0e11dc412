#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/string_list.h"

/*
 * Disks that a pod names by itself, without a claim, and that no two pods of a node may write to:
 * those of GCE and AWS, iSCSI, and images of the RBD plugin that was once part of Kubernetes. The
 * scheduler's VolumeRestrictions keeps them apart. Pure; any thread.
 */
enum exclusive_disk_kind { EXCLUSIVE_GCE, EXCLUSIVE_EBS, EXCLUSIVE_ISCSI, EXCLUSIVE_RBD };

struct exclusive_disk {
    enum exclusive_disk_kind kind;
    char *name;                  /* of the disk or image; of ISCSI the target's IQN */
    char *pool;                  /* of RBD */
    struct string_list monitors; /* of RBD */
    bool is_read_only;
};

/* Of a pod's volume as the API server sends it; NULL for all others. Members of an unexpected type
 * count as missing. Caller frees. */
struct exclusive_disk *exclusive_disk_decode(const json_t *volume);
void exclusive_disk_free(struct exclusive_disk *disk);

/* Whether the two are the same disk and one of the pods writes. A disk of AWS is not even shared
 * read-only; images are the same if one monitor is. */
bool exclusive_disk_conflicts(const struct exclusive_disk *a, const struct exclusive_disk *b);
