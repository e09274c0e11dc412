#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strmap.h"
#include "common/ceph/on_disk.h"

/*
 * Every parameter that users write into a StorageClass, VolumeSnapshotClass,
 * VolumeGroupSnapshotClass or VolumeAttributesClass, and every attribute of a PersistentVolume that
 * is read back: one table, from which checks, defaults, suggestions and docs/storageclass.md come.
 * tests/lint/parameters keeps the keys out of the other sources. Unknown parameters are not an
 * error, because Ceph-CSI ignores them and deployers rely on it. Pure; any thread.
 */

/* What the sidecars read themselves or add begins with it. What they add is also written into Ceph,
 * hence these come from the registry. */
#define PARAM_SIDECAR METADATA_KUBERNETES
#define PARAM_PVC_NAME METADATA_PVC_NAME
#define PARAM_PVC_NAMESPACE METADATA_PVC_NAMESPACE
#define PARAM_PROVISIONER_SECRET PARAM_SIDECAR "provisioner-secret"
#define PARAM_EXPAND_SECRET PARAM_SIDECAR "controller-expand-secret"
#define PARAM_EPHEMERAL PARAM_SIDECAR "ephemeral"
#define PARAM_POD_UID PARAM_SIDECAR "pod.uid"

#define PARAM_CLUSTER_ID "clusterID"
#define PARAM_POOL "pool"
#define PARAM_DATA_POOL "dataPool"
#define PARAM_FS_NAME "fsName"
#define PARAM_RADOS_NAMESPACE "radosNamespace"
#define PARAM_IMAGE_FEATURES "imageFeatures"
#define PARAM_IMAGE_FORMAT "imageFormat"
#define PARAM_STRIPE_UNIT "stripeUnit"
#define PARAM_STRIPE_COUNT "stripeCount"
#define PARAM_OBJECT_SIZE "objectSize"
#define PARAM_VOLUME_PREFIX "volumeNamePrefix"
#define PARAM_SNAPSHOT_PREFIX "snapshotNamePrefix"
#define PARAM_GROUP_PREFIX "volumeGroupNamePrefix"
#define PARAM_BACKING_SNAPSHOT "backingSnapshot"
#define PARAM_MOUNTER "mounter"
#define PARAM_TRY_OTHER_MOUNTERS "tryOtherMounters"
#define PARAM_MAP_OPTIONS "mapOptions"
#define PARAM_UNMAP_OPTIONS "unmapOptions"
#define PARAM_LOG_DIR "cephLogDir"
#define PARAM_LOG_STRATEGY "cephLogStrategy"
#define PARAM_MKFS_OPTIONS "mkfsOptions"
#define PARAM_KERNEL_OPTIONS "kernelMountOptions"
#define PARAM_FUSE_OPTIONS "fuseMountOptions"
#define PARAM_ENCRYPTED "encrypted"
#define PARAM_ENCRYPTION_TYPE "encryptionType"
#define PARAM_ENCRYPTION_KMS "encryptionKMSID"
#define PARAM_CONSTRAINED_POOLS "topologyConstrainedPools"
#define PARAM_TOPOLOGY_POOLS "topologyPools"
#define PARAM_TOPOLOGY_CLASS "topologyClass"
#define PARAM_POOL_SELECTION "poolSelection"
#define PARAM_TOPOLOGY_PINNING "topologyPinning"
#define PARAM_IMMEDIATE_TOPOLOGY "immediateTopology"
#define PARAM_UNSERVED_DOMAINS "unservedDomains"
#define PARAM_OVERCOMMIT "overcommit"
#define PARAM_CROSS_POOL_RESTORE "crossPoolRestore"

/* Limits on I/O: see CLASS_LIMIT. */
#define PARAM_BASE_IOPS "baseIops"
#define PARAM_MAX_IOPS "maxIops"
#define PARAM_IOPS_PER_GIB "iopsPerGiB"
#define PARAM_BASE_READ_IOPS "baseReadIops"
#define PARAM_MAX_READ_IOPS "maxReadIops"
#define PARAM_READ_IOPS_PER_GIB "readIopsPerGiB"
#define PARAM_BASE_WRITE_IOPS "baseWriteIops"
#define PARAM_MAX_WRITE_IOPS "maxWriteIops"
#define PARAM_WRITE_IOPS_PER_GIB "writeIopsPerGiB"
#define PARAM_BASE_BPS "baseBps"
#define PARAM_MAX_BPS "maxBps"
#define PARAM_BPS_PER_GIB "bpsPerGiB"
#define PARAM_BASE_READ_BPS "baseReadBps"
#define PARAM_MAX_READ_BPS "maxReadBps"
#define PARAM_READ_BPS_PER_GIB "readBpsPerGiB"
#define PARAM_BASE_WRITE_BPS "baseWriteBps"
#define PARAM_MAX_WRITE_BPS "maxWriteBps"
#define PARAM_WRITE_BPS_PER_GIB "writeBpsPerGiB"
#define PARAM_BASE_VOLUME_SIZE "baseVolSizeBytes"

/* The same, as Ceph-CSI 3.14 had them. */
#define PARAM_OLD_BASE_READ_IOPS "BaseReadIops"
#define PARAM_OLD_READ_IOPS_PER_GIB "ReadIopsPerGiB"
#define PARAM_OLD_BASE_WRITE_IOPS "BaseWriteIops"
#define PARAM_OLD_WRITE_IOPS_PER_GIB "WriteIopsPerGiB"
#define PARAM_OLD_BASE_READ_BPS "BaseReadBytesPerSecond"
#define PARAM_OLD_READ_BPS_PER_GIB "ReadBpsPerGiB"
#define PARAM_OLD_BASE_WRITE_BPS "BaseWriteBytesPerSecond"
#define PARAM_OLD_WRITE_BPS_PER_GIB "WriteBpsPerGiB"
#define PARAM_OLD_BASE_VOLUME_SIZE "BaseVolSizeBytes"

/* Attributes of PersistentVolumes that no class has. */
#define PARAM_STATIC_VOLUME "staticVolume"
#define PARAM_IMAGE_NAME "imageName"
#define PARAM_JOURNAL_POOL "journalPool"
#define PARAM_SEGMENTS "topologySegments"
#define PARAM_ROOT_PATH "rootPath"
#define PARAM_BACKING_SNAPSHOT_ID "backingSnapshotID"
#define PARAM_SUBVOLUME_GROUP "subvolumeGroup"
#define PARAM_SUBVOLUME_NAME "subvolumeName"
#define PARAM_SUBVOLUME_PATH "subvolumePath"
#define PARAM_PROVISION_VOLUME "provisionVolume"
#define PARAM_MONITORS "monitors"

enum class_driver {
    CLASS_RBD = 1 << 0,
    CLASS_CEPHFS = 1 << 1,
    CLASS_ANY_DRIVER = CLASS_RBD | CLASS_CEPHFS,
};

/* The calls that take a parameter. What CreateVolume takes for a node reaches NodeStageVolume in
 * the volume context. */
enum class_call {
    CLASS_CREATE_VOLUME = 1 << 0,
    CLASS_CREATE_SNAPSHOT = 1 << 1,
    CLASS_CREATE_GROUP = 1 << 2,
    CLASS_MODIFY_VOLUME = 1 << 3,
    CLASS_STAGE_VOLUME = 1 << 4,
};

struct class_parameter {
    const char *key; /* of a family: how its keys begin */
    unsigned drivers;
    unsigned calls;
    /* NULL: any value will do, or whoever uses it checks it. */
    int (*check)(const struct class_parameter *parameter, const char *value, struct error *err);
    const char *values;   /* for users; with check_word() the words, with ", " between them */
    const char *fallback; /* NULL: none */
    const char *help;     /* one sentence for users */
    bool is_family;
    bool may_be_empty; /* which is as good as absent */
};

/* All of them, in the order of the page. A key is there twice if it means something else to the
 * other driver. */
const struct class_parameter *class_parameters(size_t *count);

/* The value, or the table's default for it if it is absent or empty; NULL without either. Not for
 * keys whose default depends on the driver. */
const char *class_parameter_get(const struct strmap *parameters, const char *key);

/* INVALID_ARGUMENT naming @key if it is there and its value is wrong. */
_must_check_ int class_parameter_check(const struct strmap *parameters, enum class_driver driver,
                                       const char *key, struct error *err);

/* All that CreateVolume takes; INVALID_ARGUMENT as well if clusterID is missing, or pool (CephFS:
 * fsName) and topologyConstrainedPools. */
_must_check_ int class_parameters_check(const struct strmap *parameters, enum class_driver driver,
                                        struct error *err);

/* A kind of limit on I/O, and the parameters that are for it. */
struct class_limit {
    const char *kind; /* in librbd's option rbd_qos_KIND_limit */
    const char *base;
    const char *max;
    const char *per_gib;
    const char *old_base; /* as Ceph-CSI 3.14 had it; NULL: it had none */
    const char *old_per_gib;
};

#define CLASS_LIMITS 6
#define LIMIT_MAX "max" /* as the value of @max: none */
extern const struct class_limit CLASS_LIMIT[CLASS_LIMITS];

/* INVALID_ARGUMENT if @cluster_id does not fit into a volume handle. */
_must_check_ int class_check_cluster(const char *cluster_id, struct error *err);

/* The row of @key for one of @drivers; NULL if there is none. */
const struct class_parameter *class_parameter_find(const char *key, unsigned drivers);

/* The parameter of @call that somebody meant who wrote @key; NULL if nothing is close. */
const char *class_parameter_suggest(const char *key, enum class_driver driver,
                                    enum class_call call);

/* Puts the parameters that a node needs later into @context: all but topologyConstrainedPools and
 * what the sidecars added. */
void class_parameters_to_context(const struct strmap *parameters, struct strmap *context);
