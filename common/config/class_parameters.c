#include "common/config/class_parameters.h"

#include <assert.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/topology/free_space.h"
#include "common/topology/pinning.h"
#include "common/topology/placement.h"
#include "common/volume/volume_id.h"

#define PREFIX_MAX 128 /* bytes; with a uuid it must be the name of a directory */

/* What librbd accepts. For other sizes it returns EDOM, which would look like a transient fault. */
#define OBJECT_SIZE_MIN (4ULL * 1024)
#define OBJECT_SIZE_MAX (32ULL * 1024 * 1024)

/* --- checks --- */

static int check_filled(const struct class_parameter *parameter, const char *value,
                        struct error *err)
{
    if (value[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter %s is empty", parameter->key);
    return 0;
}

int class_check_cluster(const char *cluster_id, struct error *err)
{
    if (cluster_id[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "clusterID is empty or missing");
    if (strlen(cluster_id) > VOLUME_ID_CLUSTER_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "clusterID has more than %d bytes and does not fit into a volume handle",
                         VOLUME_ID_CLUSTER_MAX);
    if (!volume_id_cluster_is_valid(cluster_id))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "clusterID has a slash or a control character, which a volume handle "
                         "cannot carry");
    return 0;
}

static int check_cluster(const struct class_parameter *parameter, const char *value,
                         struct error *err)
{
    (void)parameter;
    return class_check_cluster(value, err) < 0 ? error_wrap(err, "parameters") : 0;
}

/* Names of subvolumes and their snapshots are directories. */
static int check_prefix(const struct class_parameter *parameter, const char *value,
                        struct error *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

    if (check_filled(parameter, value, err) < 0)
        return -1;
    if (strlen(value) > PREFIX_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter %s has more than %d bytes",
                         parameter->key, PREFIX_MAX);
    if (value[strspn(value, plain)] != '\0' || value[0] == '.')
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "parameter %s: only letters, digits, '.', '_' and '-' can be in the name "
                         "of a subvolume, and no '.' at its beginning",
                         parameter->key);
    return 0;
}

static int check_bool(const struct class_parameter *parameter, const char *value, struct error *err)
{
    bool ignored = false;

    return text_parse_bool(value, &ignored, err) < 0 ? error_wrap(err, "%s", parameter->key) : 0;
}

static int check_number(const struct class_parameter *parameter, const char *value,
                        struct error *err)
{
    uint64_t ignored = 0;

    return text_parse_u64(value, &ignored, err) < 0 ? error_wrap(err, "%s", parameter->key) : 0;
}

/* Of Ceph-CSI's limits. */
static int check_int64(const struct class_parameter *parameter, const char *value,
                       struct error *err)
{
    uint64_t number = 0;

    if (text_parse_u64(value, &number, err) < 0)
        return error_wrap(err, "%s", parameter->key);
    if (number > INT64_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s: '%.40s' is not below 2^63",
                         parameter->key, value);
    return 0;
}

static int check_maximum(const struct class_parameter *parameter, const char *value,
                         struct error *err)
{
    if (strcmp(value, LIMIT_MAX) == 0 || check_int64(parameter, value, err) == 0)
        return 0;
    return error_hint(err, "'" LIMIT_MAX "' is no limit");
}

static int check_object_size(const struct class_parameter *parameter, const char *value,
                             struct error *err)
{
    uint64_t size = 0;

    if (text_parse_u64(value, &size, err) < 0)
        return error_wrap(err, "%s", parameter->key);
    if (size & (size - 1))
        return error_set(err, STATUS_INVALID_ARGUMENT, "objectSize: %llu is not a power of two",
                         (unsigned long long)size);
    if (size != 0 && (size < OBJECT_SIZE_MIN || size > OBJECT_SIZE_MAX))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "objectSize: %llu is not between %llu and %llu", (unsigned long long)size,
                         OBJECT_SIZE_MIN, OBJECT_SIZE_MAX);
    return 0;
}

/* One of the parameter's one or two values. */
static int check_word(const struct class_parameter *parameter, const char *value, struct error *err)
{
    const char *words = parameter->values;
    const size_t first = strcspn(words, ",");
    const char *second = words[first] ? words + first + strlen(", ") : NULL;

    if (check_filled(parameter, value, err) < 0)
        return -1;
    if ((strlen(value) == first && strncmp(value, words, first) == 0) ||
        (second && strcmp(value, second) == 0))
        return 0;
    if (!second)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s: '%.40s' is unknown; there is only '%s'",
                         parameter->key, value, words);
    return error_set(err, STATUS_INVALID_ARGUMENT, "%s: '%.40s' is neither '%.*s' nor '%s'",
                     parameter->key, value, (int)first, words, second);
}

static int check_encrypted(const struct class_parameter *parameter, const char *value,
                           struct error *err)
{
    bool encrypted = false;

    if (text_parse_bool(value, &encrypted, err) < 0)
        return error_wrap(err, "%s", parameter->key);
    if (encrypted)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "parameter encrypted: this driver does not encrypt volumes; leave it out "
                         "or keep such classes with Ceph-CSI");
    return 0;
}

static int check_policy(const struct class_parameter *parameter, const char *value,
                        struct error *err)
{
    enum placement_policy ignored;

    (void)parameter;
    return placement_policy_parse(value, &ignored, err);
}

static int check_pinning(const struct class_parameter *parameter, const char *value,
                         struct error *err)
{
    enum pinning ignored;

    (void)parameter;
    return pinning_parse(value, &ignored, err);
}

static int check_immediate(const struct class_parameter *parameter, const char *value,
                           struct error *err)
{
    enum immediate_topology ignored;

    (void)parameter;
    return immediate_topology_parse(value, &ignored, err);
}

static int check_overcommit(const struct class_parameter *parameter, const char *value,
                            struct error *err)
{
    uint64_t ignored = 0;

    (void)parameter;
    return overcommit_parse(value, &ignored, err);
}

/* --- the table --- */

#define RBD CLASS_RBD
#define CEPHFS CLASS_CEPHFS
#define BOTH CLASS_ANY_DRIVER
#define CREATE CLASS_CREATE_VOLUME
#define SNAPSHOT CLASS_CREATE_SNAPSHOT
#define GROUP CLASS_CREATE_GROUP
#define MODIFY CLASS_MODIFY_VOLUME
#define STAGE CLASS_STAGE_VOLUME

#define NAME_VALUES "letters, digits, `.`, `_`, `-`"

/* librbd's limits, by the names of its options. */
#define QOS_ROW(name, text)                                                                        \
    {                                                                                              \
        "rbd_qos_" name, RBD, MODIFY, check_number, "number; `0`: none", NULL, .help = (text)      \
    }
#define QOS(name, what, these)                                                                     \
    QOS_ROW(name "_limit", what " per second."),                                                   \
        QOS_ROW(name "_burst", what " per second during a burst."),                                \
        QOS_ROW(name "_burst_seconds", "How long a burst of " these " may last.")

/* Ceph-CSI's limits: what is allowed, the most that it grows to, and how much for each GiB. */
#define LIMIT(name, function, text, sentence)                                                      \
    {                                                                                              \
        name, RBD, CREATE | MODIFY, function, text, NULL, .help = (sentence)                       \
    }
#define LIMIT_ROWS(base, maximum, per_gib, what, sentence)                                         \
    LIMIT(base, check_int64, "number", what " per second with rbd-nbd."),                          \
        LIMIT(maximum, check_maximum, "number or `max`", sentence),                                \
        LIMIT(per_gib, check_int64, "number",                                                      \
              what " per second more for each GiB beyond `" PARAM_BASE_VOLUME_SIZE "`.")
#define LIMITS_OF_ALL(base, maximum, per_gib, what, these)                                         \
    LIMIT_ROWS(base, maximum, per_gib, what,                                                       \
               "The most " these " per second that `" per_gib "` leads to.")
#define LIMITS(base, maximum, per_gib, what)                                                       \
    LIMIT_ROWS(base, maximum, per_gib, what,                                                       \
               what " per second with krbd, see [qos.md](qos.md); with `" base                     \
                    "` the most that `" per_gib "` leads to.")
#define FORMER_LIMIT(name, present)                                                                \
    LIMIT(name, check_int64, "number", "Former name of `" present "`.")

static const struct class_parameter PARAMETERS[] = {
    {PARAM_CLUSTER_ID, BOTH, CREATE | SNAPSHOT | GROUP | STAGE, check_cluster,
     "at most 64 bytes, no slash", NULL,
     .help = "Required: the cluster, by its `clusterID` in config.json.", .may_be_empty = true},
    {PARAM_POOL, RBD, CREATE | STAGE, check_filled, "name", NULL,
     .help = "Required unless `topologyConstrainedPools` is given: the pool of the images; with "
             "places it "
             "keeps the names of requests."},
    {PARAM_POOL, CEPHFS, CREATE, check_filled, "name", NULL,
     .help = "Data pool of the subvolumes; the file system's first one if left out."},
    {PARAM_DATA_POOL, RBD, CREATE, check_filled, "name", NULL,
     .help = "Pool for the data of images whose metadata is in `pool`: an erasure-coded one."},
    {PARAM_FS_NAME, CEPHFS, CREATE | STAGE, NULL, "name", NULL,
     .help = "The file system; required unless each entry of `topologyConstrainedPools` names its "
             "own."},
    {PARAM_RADOS_NAMESPACE, RBD, CREATE, check_filled, "name", NULL,
     .help = "Ignored: the RADOS namespace is the one in config.json."},
    {PARAM_IMAGE_FEATURES, RBD, CREATE, check_filled,
     "list of `layering`, `exclusive-lock`, `object-map`, `fast-diff`, `deep-flatten`, "
     "`journaling`",
     NULL, .help = "Features of new images; librbd's own default if left out."},
    {PARAM_IMAGE_FORMAT, RBD, CREATE, NULL, "any", NULL, .help = "Ignored: images have format 2."},
    {PARAM_STRIPE_UNIT, RBD, CREATE, check_number, "bytes", NULL,
     .help = "Bytes of an image that go to one object before the next; only with `stripeCount`."},
    {PARAM_STRIPE_COUNT, RBD, CREATE, check_number, "number", NULL,
     .help = "Objects that are striped over; only with `stripeUnit`."},
    {PARAM_OBJECT_SIZE, RBD, CREATE, check_object_size,
     "power of two from 4096 to 33554432; `0`: as if left out", NULL,
     .help = "Bytes of an image's objects; librbd's own default if left out."},
    {PARAM_VOLUME_PREFIX, RBD, CREATE, check_filled, "text", IMAGE_PREFIX_VOLUME,
     .help = "How names of images begin."},
    {PARAM_VOLUME_PREFIX, CEPHFS, CREATE, check_prefix, NAME_VALUES, IMAGE_PREFIX_VOLUME,
     .help = "How names of subvolumes begin."},
    {PARAM_SNAPSHOT_PREFIX, RBD, SNAPSHOT, check_filled, "text", IMAGE_PREFIX_SNAPSHOT,
     .help = "How names of snapshots begin."},
    {PARAM_SNAPSHOT_PREFIX, CEPHFS, SNAPSHOT, check_prefix, NAME_VALUES, IMAGE_PREFIX_SNAPSHOT,
     .help = "How names of snapshots begin."},
    {PARAM_GROUP_PREFIX, BOTH, GROUP, NULL, "text", IMAGE_PREFIX_GROUP,
     .help = "How names of group snapshots begin."},
    {PARAM_BACKING_SNAPSHOT, CEPHFS, CREATE, check_bool, "true, false", NULL,
     .help = "Whether a volume made from a snapshot shows the snapshot itself instead of a copy; "
             "if left "
             "out it does so when it is only read."},
    {PARAM_MOUNTER, RBD, CREATE | STAGE, NULL,
     "`rbd`, `rbd-nbd` or another of the [mappers](node.md#mappers)", NULL,
     .help = "How nodes map images; `--mounter` of the node if left out, else `rbd`."},
    {PARAM_MOUNTER, CEPHFS, CREATE | STAGE, check_word, "kernel, fuse", NULL,
     .help = "Client that nodes mount with; `--mounter` of the node if left out, else `kernel`; "
             "the other "
             "one where it cannot be used."},
    {PARAM_TRY_OTHER_MOUNTERS, RBD, CREATE | STAGE, NULL, "true, false", "false",
     .help = "Whether rbd-nbd is tried where the kernel has no rbd driver, or that lacks a feature "
             "of the "
             "image."},
    {PARAM_MAP_OPTIONS, RBD, CREATE | STAGE, NULL, "`krbd:o1,o2;nbd:o3`", NULL,
     .help = "Options for mapping; a part without a name is for krbd."},
    {PARAM_UNMAP_OPTIONS, RBD, CREATE | STAGE, NULL, "`krbd:o1,o2;nbd:o3`", NULL,
     .help = "Options for unmapping."},
    {PARAM_LOG_DIR, RBD, CREATE | STAGE, NULL, "path", "/var/log/ceph",
     .help = "Recorded in `image-meta.json`, where Ceph-CSI looks for the logs of rbd-nbd."},
    {PARAM_LOG_STRATEGY, RBD, CREATE | STAGE, NULL, "any", "remove",
     .help = "Recorded there as well: what Ceph-CSI does with a log after unmapping."},
    {PARAM_MKFS_OPTIONS, RBD, CREATE | STAGE, NULL, "words", NULL,
     .help = "Options of mkfs, in place of the driver's own."},
    {PARAM_KERNEL_OPTIONS, CEPHFS, CREATE | STAGE, check_filled, "list", NULL,
     .help = "Mount options of the kernel client."},
    {PARAM_FUSE_OPTIONS, CEPHFS, CREATE | STAGE, check_filled, "list", NULL,
     .help = "Mount options of ceph-fuse."},
    {PARAM_ENCRYPTED, BOTH, CREATE | STAGE, check_encrypted, "false", "false",
     .help = "Volumes are not encrypted; `true` is refused."},
    {PARAM_ENCRYPTION_TYPE, BOTH, CREATE, check_filled, "any", NULL,
     .help = "Ignored: volumes are not encrypted."},
    {PARAM_ENCRYPTION_KMS, BOTH, CREATE, NULL, "any", NULL,
     .help = "Ignored: volumes are not encrypted."},
    /* parsed with the other pools: it can be long */
    {PARAM_CONSTRAINED_POOLS, BOTH, CREATE, NULL, "JSON", NULL,
     .help = "Pools and their places, see [topology.md](topology.md).", .may_be_empty = true},
    {PARAM_TOPOLOGY_POOLS, BOTH, CREATE, check_word, "auto", NULL,
     .help = "No list: pools carry their places themselves.", .may_be_empty = true},
    {PARAM_TOPOLOGY_CLASS, BOTH, CREATE, NULL, "text", NULL,
     .help = "With `topologyPools: auto`: what `cephzone.class` of the pools must be; the value of "
             "`pool` "
             "(CephFS: `fsName`) if left out."},
    {PARAM_POOL_SELECTION, BOTH, CREATE, check_policy, PLACEMENT_POLICIES, "free-space",
     .help = "Which of the pools that serve a place equally well is taken.", .may_be_empty = true},
    {PARAM_TOPOLOGY_PINNING, BOTH, CREATE, check_pinning, "auto, membership, plain, standard, none",
     "auto", .help = "Labels that a volume is pinned to.", .may_be_empty = true},
    {PARAM_IMMEDIATE_TOPOLOGY, BOTH, CREATE, check_immediate, IMMEDIATE_TOPOLOGIES, "first",
     .help = "For `volumeBindingMode: Immediate`: how a pool is found for a volume without a pod, "
             "see [topology.md](topology.md#immediate).",
     .may_be_empty = true},
    {PARAM_UNSERVED_DOMAINS, BOTH, CREATE, check_word, "refuse, anywhere", "refuse",
     .help = "What becomes of a volume for a place that no pool of the class serves: with "
             "`anywhere` it goes into any pool, and is not pinned.",
     .may_be_empty = true},
    {PARAM_OVERCOMMIT, BOTH, CREATE, check_overcommit, "0.001 to 1000, three decimals", NULL,
     .help = "How many times what fits the sizes of volumes may add up to.", .may_be_empty = true},
    {PARAM_CROSS_POOL_RESTORE, RBD, CREATE, check_word, "copy, none", "none",
     .help = "Whether a restore or clone may leave the pool of its source.", .may_be_empty = true},
    {PARAM_CROSS_POOL_RESTORE, CEPHFS, CREATE, check_word, "copy, none", "copy",
     .help = "Whether a restore or clone may leave the data pool of its source.",
     .may_be_empty = true},
    LIMITS_OF_ALL(PARAM_BASE_IOPS, PARAM_MAX_IOPS, PARAM_IOPS_PER_GIB, "Operations", "operations"),
    LIMITS(PARAM_BASE_READ_IOPS, PARAM_MAX_READ_IOPS, PARAM_READ_IOPS_PER_GIB, "Reads"),
    LIMITS(PARAM_BASE_WRITE_IOPS, PARAM_MAX_WRITE_IOPS, PARAM_WRITE_IOPS_PER_GIB, "Writes"),
    LIMITS_OF_ALL(PARAM_BASE_BPS, PARAM_MAX_BPS, PARAM_BPS_PER_GIB, "Bytes", "bytes"),
    LIMITS(PARAM_BASE_READ_BPS, PARAM_MAX_READ_BPS, PARAM_READ_BPS_PER_GIB, "Bytes read"),
    LIMITS(PARAM_BASE_WRITE_BPS, PARAM_MAX_WRITE_BPS, PARAM_WRITE_BPS_PER_GIB, "Bytes written"),
    LIMIT(PARAM_BASE_VOLUME_SIZE, check_int64, "bytes", "Size from which limits grow."),
    FORMER_LIMIT(PARAM_OLD_BASE_READ_IOPS, PARAM_BASE_READ_IOPS),
    FORMER_LIMIT(PARAM_OLD_READ_IOPS_PER_GIB, PARAM_READ_IOPS_PER_GIB),
    FORMER_LIMIT(PARAM_OLD_BASE_WRITE_IOPS, PARAM_BASE_WRITE_IOPS),
    FORMER_LIMIT(PARAM_OLD_WRITE_IOPS_PER_GIB, PARAM_WRITE_IOPS_PER_GIB),
    FORMER_LIMIT(PARAM_OLD_BASE_READ_BPS, PARAM_BASE_READ_BPS),
    FORMER_LIMIT(PARAM_OLD_READ_BPS_PER_GIB, PARAM_READ_BPS_PER_GIB),
    FORMER_LIMIT(PARAM_OLD_BASE_WRITE_BPS, PARAM_BASE_WRITE_BPS),
    FORMER_LIMIT(PARAM_OLD_WRITE_BPS_PER_GIB, PARAM_WRITE_BPS_PER_GIB),
    FORMER_LIMIT(PARAM_OLD_BASE_VOLUME_SIZE, PARAM_BASE_VOLUME_SIZE),
    QOS("iops", "Operations", "operations"),
    QOS("bps", "Bytes", "bytes"),
    QOS("read_iops", "Reads", "reads"),
    QOS("write_iops", "Writes", "writes"),
    QOS("read_bps", "Bytes read", "bytes read"),
    QOS("write_bps", "Bytes written", "bytes written"),
    {PARAM_SIDECAR, BOTH, CREATE | SNAPSHOT | GROUP, NULL, "", NULL,
     .help = "Secrets and the file system type, which the sidecars read, and the names of claim, "
             "volume "
             "and snapshot, which they add.",
     .is_family = true},
    {PARAM_STATIC_VOLUME, BOTH, STAGE, check_bool, "true, false", "false",
     .help = "The volume was made by hand: the PersistentVolume says where it is."},
    {PARAM_IMAGE_NAME, RBD, STAGE, NULL, "name", NULL,
     .help = "The image; of a static volume the handle if left out."},
    {PARAM_JOURNAL_POOL, RBD, STAGE, NULL, "name", NULL,
     .help = "Written by the driver: the pool that keeps the name of the request."},
    {PARAM_SEGMENTS, BOTH, STAGE, NULL, "`KEY=VALUE,KEY=VALUE`", NULL,
     .help = "Written by the driver: what the volume is pinned to. A node that serves another "
             "place does not stage it, see [node.md](node.md#places)."},
    {PARAM_ROOT_PATH, CEPHFS, STAGE, NULL, "path", NULL,
     .help = "Directory of a static volume, from the root of the file system."},
    {PARAM_BACKING_SNAPSHOT_ID, CEPHFS, STAGE, NULL, "text", NULL,
     .help =
         "A static volume shows the one snapshot in `rootPath/.snap` that has this in its name."},
    {PARAM_SUBVOLUME_GROUP, CEPHFS, STAGE, NULL, "name", NULL,
     .help = "Subvolume group of the volume; the one in config.json if left out."},
    {PARAM_SUBVOLUME_NAME, CEPHFS, STAGE, NULL, "name", NULL,
     .help = "Written by the driver: the subvolume."},
    {PARAM_SUBVOLUME_PATH, CEPHFS, STAGE, NULL, "path", NULL,
     .help = "Written by the driver: the directory of the subvolume."},
    {PARAM_PROVISION_VOLUME, CEPHFS, STAGE, NULL, "any", NULL,
     .help = "Refused: such a volume was made by Ceph-CSI 1.0."},
    {PARAM_MONITORS, CEPHFS, STAGE, NULL, "any", NULL,
     .help = "Refused: such a volume was made by Ceph-CSI 1.0."},
};

const struct class_limit CLASS_LIMIT[CLASS_LIMITS] = {
    {"iops", PARAM_BASE_IOPS, PARAM_MAX_IOPS, PARAM_IOPS_PER_GIB, NULL, NULL},
    {"read_iops", PARAM_BASE_READ_IOPS, PARAM_MAX_READ_IOPS, PARAM_READ_IOPS_PER_GIB,
     PARAM_OLD_BASE_READ_IOPS, PARAM_OLD_READ_IOPS_PER_GIB},
    {"write_iops", PARAM_BASE_WRITE_IOPS, PARAM_MAX_WRITE_IOPS, PARAM_WRITE_IOPS_PER_GIB,
     PARAM_OLD_BASE_WRITE_IOPS, PARAM_OLD_WRITE_IOPS_PER_GIB},
    {"bps", PARAM_BASE_BPS, PARAM_MAX_BPS, PARAM_BPS_PER_GIB, NULL, NULL},
    {"read_bps", PARAM_BASE_READ_BPS, PARAM_MAX_READ_BPS, PARAM_READ_BPS_PER_GIB,
     PARAM_OLD_BASE_READ_BPS, PARAM_OLD_READ_BPS_PER_GIB},
    {"write_bps", PARAM_BASE_WRITE_BPS, PARAM_MAX_WRITE_BPS, PARAM_WRITE_BPS_PER_GIB,
     PARAM_OLD_BASE_WRITE_BPS, PARAM_OLD_WRITE_BPS_PER_GIB},
};

const struct class_parameter *class_parameters(size_t *count)
{
    *count = ARRAY_LENGTH(PARAMETERS);
    return PARAMETERS;
}

/* --- use of it --- */

const struct class_parameter *class_parameter_find(const char *key, unsigned drivers)
{
    for (size_t i = 0; i < ARRAY_LENGTH(PARAMETERS); i++) {
        const struct class_parameter *parameter = &PARAMETERS[i];

        if ((parameter->drivers & drivers) &&
            (parameter->is_family ? text_has_prefix(key, parameter->key)
                                  : strcmp(key, parameter->key) == 0))
            return parameter;
    }
    return NULL;
}

const char *class_parameter_get(const struct strmap *parameters, const char *key)
{
    const struct class_parameter *parameter = class_parameter_find(key, BOTH);

    assert(parameter);
    return strmap_get_or(parameters, key, parameter->fallback);
}

static int check_value(const struct strmap *parameters, const struct class_parameter *parameter,
                       struct error *err)
{
    const char *value = strmap_get(parameters, parameter->key);

    if (!value || !parameter->check || (value[0] == '\0' && parameter->may_be_empty))
        return 0;
    return parameter->check(parameter, value, err);
}

int class_parameter_check(const struct strmap *parameters, enum class_driver driver,
                          const char *key, struct error *err)
{
    const struct class_parameter *parameter = class_parameter_find(key, driver);

    assert(parameter);
    return check_value(parameters, parameter, err);
}

int class_parameters_check(const struct strmap *parameters, enum class_driver driver,
                           struct error *err)
{
    const char *home = driver == CLASS_CEPHFS ? PARAM_FS_NAME : PARAM_POOL;

    for (size_t i = 0; i < ARRAY_LENGTH(PARAMETERS); i++)
        if ((PARAMETERS[i].drivers & driver) && (PARAMETERS[i].calls & CREATE) &&
            check_value(parameters, &PARAMETERS[i], err) < 0)
            return -1;
    if (!class_parameter_get(parameters, PARAM_CLUSTER_ID))
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter clusterID is missing");
    if (!class_parameter_get(parameters, home) &&
        !class_parameter_get(parameters, PARAM_CONSTRAINED_POOLS))
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter %s is missing", home);
    return 0;
}

const char *class_parameter_suggest(const char *key, enum class_driver driver, enum class_call call)
{
    struct nearest nearest = NEAREST_INIT(key);

    for (size_t i = 0; i < ARRAY_LENGTH(PARAMETERS); i++)
        if ((PARAMETERS[i].drivers & driver) && (PARAMETERS[i].calls & call) &&
            !PARAMETERS[i].is_family)
            nearest_offer(&nearest, PARAMETERS[i].key);
    return nearest.name;
}

void class_parameters_to_context(const struct strmap *parameters, struct strmap *context)
{
    for (size_t i = 0; i < parameters->count; i++) {
        const struct strmap_entry *entry = &parameters->entries[i];

        if (!text_has_prefix(entry->key, PARAM_SIDECAR) &&
            strcmp(entry->key, PARAM_CONSTRAINED_POOLS) != 0)
            strmap_set(context, entry->key, entry->value);
    }
}
