#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/topology/quantity.h"
#include "common/topology/selector.h"

/*
 * The Kubernetes objects that this project reads, as far as it reads them; no other code decodes
 * them. Decoded from JSON as the API server and kubectl print it; unknown keys are ignored, as Go
 * does. Texts are NULL where the object has none (or null); "" is kept as "" because Kubernetes
 * distinguishes the two in places. Each struct owns what it points to, except for members marked
 * "of the holder": they are NULL in a decoded object, and whoever sets them frees them before
 * kube_object_free(). Pure; a decoded object may be read by any thread.
 */

/* More than any object has; a dump that exceeds them is refused with the place. */
#define KUBE_NAME_MAX 253
#define KUBE_LABELS_MAX 4096
#define KUBE_LIST_MAX 16384 /* volumes, terms, drivers, taints of one object */

struct kube_owner {
    char *kind;
    char *name;
    char *uid;
    bool is_controller;
};

struct kube_meta {
    char *name;
    char *ns; /* NULL for objects of the cluster */
    char *uid;
    char *version; /* resourceVersion */
    char *deletion_timestamp;
    struct strmap labels;
    struct strmap annotations;
    struct kube_owner *owners;
    size_t owner_count;
    struct string_list finalizers;
};

struct kube_taint {
    char *key;
    char *value;
    char *effect;
};

struct kube_condition {
    char *type;
    char *status;
};

struct kube_address {
    char *type; /* "InternalIP" */
    char *address;
};

struct kube_node {
    struct kube_meta meta;
    bool is_unschedulable;
    struct kube_taint *taints;
    size_t taint_count;
    struct kube_condition *conditions;
    size_t condition_count;
    struct kube_address *addresses;
    size_t address_count;
    struct string_list volumes_in_use;
    char *boot_id;
    char *system_uuid;     /* of the machine, or of its motherboard */
    uint32_t *label_pairs; /* of the holder: the labels as numbers */
};

/* One bit each, so that "all of the claim's in the volume's" is one operation. */
enum kube_access_mode {
    KUBE_ACCESS_RWO = 1,
    KUBE_ACCESS_ROX = 2,
    KUBE_ACCESS_RWX = 4,
    KUBE_ACCESS_RWOP = 8,
};

/* A claim as a volume's claimRef names it. */
struct kube_claim_ref {
    char *ns;
    char *name;
    char *uid;
};

struct kube_secret_ref {
    char *ns;
    char *name;
};

/* What a scheduler assumes about an object until the API server has it. */
struct assumption;
/* See in_tree.h. */
struct in_tree_plugin;

struct kube_pv {
    struct kube_meta meta;
    char *class_name; /* of the spec; see kube_pv_class() */
    char *volume_mode;
    char *attributes_class;
    char *phase;
    char *driver;             /* spec.csi; NULL for other kinds of volumes */
    char *handle;             /* of CSI volumes and of those of @plugin */
    struct strmap attributes; /* volumeAttributes, as are the next two of CSI volumes only */
    struct kube_secret_ref expand_secret; /* controllerExpandSecretRef */
    struct kube_secret_ref stage_secret;  /* nodeStageSecretRef */
    char *reclaim_policy;
    struct quantity capacity;
    unsigned access_modes;
    bool has_claim;
    struct kube_claim_ref claim;
    bool has_affinity; /* spec.nodeAffinity is there, be it empty */
    bool has_required; /* without it every node will do */
    struct node_selector required;
    const struct in_tree_plugin *plugin; /* NULL for most */
    bool has_translated;                 /* the same two on nodes where the plugin is migrated */
    struct node_selector translated;
    char *translation_fault;    /* why the scheduler cannot translate it; NULL if it can */
    struct assumption *assumed; /* of the holder */
    void *group;                /* of the holder: the index entry while the volume is free */
};

struct kube_pvc {
    struct kube_meta meta;
    char *class_name;
    char *volume_mode;
    char *attributes_class;
    char *volume_name;
    char *phase;
    bool has_request;
    struct quantity request;
    unsigned access_modes;
    struct label_selector selector;
    struct assumption *assumed; /* of the holder */
};

enum kube_binding_mode { KUBE_BINDING_UNSET, KUBE_BINDING_IMMEDIATE, KUBE_BINDING_WAIT };

struct kube_class {
    struct kube_meta meta;
    char *provisioner;
    enum kube_binding_mode mode;
    struct strmap parameters;
    struct allowed_topologies allowed;
};

struct kube_csi_driver {
    struct kube_meta meta;
    bool tracks_capacity;     /* spec.storageCapacity */
    bool must_be_on_the_node; /* spec.preventPodSchedulingIfMissing */
    bool is_attached;         /* spec.attachRequired; true unless it is false */
    bool tells_pods;          /* spec.podInfoOnMount */
    bool mounts_labelled;     /* spec.seLinuxMount */
    char *fs_group_policy;
};

struct kube_node_driver {
    char *name;
    char *node_id;
    struct string_list topology_keys;
    int64_t limit; /* volumes; only if has_limit */
    bool has_limit;
};

struct kube_csi_node {
    struct kube_meta meta;
    struct kube_node_driver *drivers;
    size_t driver_count;
};

struct kube_capacity {
    struct kube_meta meta;
    char *class_name;
    bool has_capacity;
    bool has_maximum;
    struct quantity capacity;
    struct quantity maximum; /* of one volume */
    struct label_selector topology;
    struct strmap match_labels; /* of the topology alone, as it was written */
};

enum kube_volume_kind {
    KUBE_VOLUME_OTHER,
    KUBE_VOLUME_CLAIM,
    KUBE_VOLUME_EPHEMERAL,
    KUBE_VOLUME_CSI,
    KUBE_VOLUME_IN_TREE,
};

struct kube_pod_volume {
    char *name;
    enum kube_volume_kind kind;
    char *claim_name;                    /* of CLAIM, and of EPHEMERAL: POD-VOLUME */
    char *driver;                        /* of CSI: the inline volume's */
    const struct in_tree_plugin *plugin; /* of IN_TREE, as is the next one */
    char *disk;
    struct exclusive_disk *exclusive; /* see exclusive_disk.h; NULL for nearly all */
};

struct kube_toleration {
    char *key;
    char *op;
    char *value;
    char *effect;
};

struct kube_preference {
    int64_t weight;
    struct node_selector selector; /* one term */
};

/* What a pod needs of its node that nobody here looks at. One bit each. */
enum kube_pod_need {
    KUBE_NEED_REQUESTS = 1, /* CPU, memory and other resources of its containers */
    KUBE_NEED_PORTS = 2,    /* of the host */
    KUBE_NEED_AFFINITY = 4, /* required, to other pods */
    KUBE_NEED_ANTI_AFFINITY = 8,
    KUBE_NEED_SPREAD = 16,  /* with DoNotSchedule */
    KUBE_NEED_DEVICES = 32, /* ResourceClaims */
    KUBE_NEED_GATES = 64,   /* that are not open yet */
};

struct kube_pod {
    struct kube_meta meta;
    unsigned needs; /* enum kube_pod_need */
    char *node_name;
    char *phase;
    struct kube_pod_volume *volumes;
    size_t volume_count;
    struct strmap node_selector;
    bool has_required;
    struct node_selector required;
    struct kube_preference *preferences;
    size_t preference_count;
    struct kube_toleration *tolerations;
    size_t toleration_count;
};

struct kube_attachment {
    struct kube_meta meta;
    char *attacher;
    char *node_name;
    char *pv_name;
};

enum kube_kind {
    KUBE_NODE,
    KUBE_PV,
    KUBE_PVC,
    KUBE_CLASS,
    KUBE_CSI_DRIVER,
    KUBE_CSI_NODE,
    KUBE_CAPACITY,
    KUBE_POD,
    KUBE_ATTACHMENT,
    KUBE_KINDS,
};

/* "PersistentVolume"; KUBE_KINDS for a kind that is none of ours. */
const char *kube_kind_name(enum kube_kind kind);
enum kube_kind kube_kind_find(const char *name);
bool kube_kind_is_namespaced(enum kube_kind kind);
/* Where the API server has them: "storage.k8s.io/v1", "csinodes". Of KUBE_KINDS: "". */
const char *kube_kind_api(enum kube_kind kind);
const char *kube_kind_resource(enum kube_kind kind);
/* INVALID_ARGUMENT unless @name is the kind's. */
_must_check_ int kube_kind_check(enum kube_kind kind, const char *name, struct error *err);

/*
 * Makes the object of @kind from @value: a struct kube_node *, struct kube_pv * and so on. Objects
 * of a namespace that name none are in "default". INVALID_ARGUMENT with object and path:
 * "PersistentVolume 'pv-1': spec.accessModes[1]: there is no access mode 'RWO'". Caller frees with
 * kube_object_free().
 */
_must_check_ int kube_object_decode(enum kube_kind kind, const json_t *value, void **object,
                                    struct error *err);
void kube_object_free(enum kube_kind kind, void *object);

static inline void kube_pv_free(struct kube_pv *pv)
{
    kube_object_free(KUBE_PV, pv);
}
DEFINE_CLEANUP(struct kube_pv, kube_pv_free)

/* Of an object that is not decoded: the string at the end of a path of keys that ends with NULL, ""
 * if there is none. Borrowed. */
__attribute__((sentinel)) const char *kube_text(const json_t *item, ...);
const char *kube_name(const json_t *item);
const char *kube_namespace(const json_t *item);
const char *kube_resource_version(const json_t *item);

/* Likewise whose object it is: the CSI driver of a volume, the provisioner of a
 * class, the attacher of an attachment; "" if it is nobody's, or of another kind. Borrowed. */
const char *kube_object_driver(enum kube_kind kind, const json_t *value);

/* Every struct above begins with its meta. */
static inline struct kube_meta *kube_meta(void *object)
{
    return object;
}

/* The class: the legacy annotation where there is one, even "", else the spec's; "" if neither. */
const char *kube_pv_class(const struct kube_pv *pv);
const char *kube_pvc_class(const struct kube_pvc *claim);

/* Whether the pod is the claim's controller, as it must be for generic ephemeral volumes. */
bool kube_pvc_is_owned_by(const struct kube_pvc *claim, const struct kube_pod *pod);

static inline const char *kube_or_empty(const char *text)
{
    return text ? text : "";
}

/* It has a node and has not ended: what the scheduler counts. */
bool kube_pod_is_on_node(const struct kube_pod *pod);

/* NULL counts as "". */
bool kube_same(const char *a, const char *b);
/* A volumeMode that is not given is Filesystem. */
bool kube_volume_mode_is_block(const char *mode);

/* The annotations by which scheduler, PV controller and provisioner talk to each other. */
#define KUBE_SELECTED_NODE "volume.kubernetes.io/selected-node"
#define KUBE_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define KUBE_BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define KUBE_PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define KUBE_LEGACY_CLASS "volume.beta.kubernetes.io/storage-class"
#define KUBE_NO_PROVISIONER "kubernetes.io/no-provisioner"
#define KUBE_MIGRATED_PLUGINS "storage.alpha.kubernetes.io/migrated-plugins"

/* Of a CSIStorageCapacity that the driver publishes itself: when its figure was last obtained. It
 * is written anew when CAPACITY_HEARTBEAT_S have passed; from CAPACITY_STALE_S on nobody maintains
 * the object any more, and its figure says nothing. */
#define KUBE_CAPACITY_HEARTBEAT "cephzone/refreshed"
#define CAPACITY_HEARTBEAT_S 300
#define CAPACITY_STALE_S 900

/* "2026-11-16T06:05:44Z", with or without a fraction; 0 for anything else. */
time_t kube_time_parse(const char *text);
/* By the clock @now: it has a heartbeat, and that is old. */
bool kube_capacity_is_stale(const struct kube_capacity *capacity, time_t now);
