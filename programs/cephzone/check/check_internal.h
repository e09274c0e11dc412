#pragma once

#include "common/config/class_parameters.h"
#include "programs/cephzone/check/check.h"

/* Between the files of this folder. */

/* A CSI driver as the workloads show it. */
struct check_driver {
    char *name;
    char *image;      /* of the first container that was seen */
    bool is_own;      /* this driver's image, not Ceph-CSI's */
    bool has_version; /* the tag is vN.N */
    unsigned major;   /* of the tag */
    unsigned minor;
    bool has_controller;
    bool has_node;
    bool has_attacher;    /* csi-attacher runs beside the controller */
    bool has_no_topology; /* csi-provisioner was told so */
    struct string_list domain_labels;
};

struct check {
    const struct check_world *world;
    struct check_report *report;
    struct check_driver *drivers;
    size_t driver_count;
};

/* Adds a finding, unless the same is there already. @advice may be "". */
_printf_(6, 7) void check_add(struct check *check, enum check_result result, const char *subject,
                              const char *object, const char *advice, const char *fmt, ...);
/* "pass" for a subject of which nothing worse was found. */
_printf_(3, 4) void check_add_pass(struct check *check, const char *subject, const char *fmt, ...);

/* NULL if no workload runs it. */
const struct check_driver *check_find_driver(const struct check *check, const char *name);
enum class_driver check_class_driver(const char *name);
/* Whether volumes of the class have places. */
bool check_class_has_places(const struct kube_class *class);

void check_drivers(struct check *check); /* driver, version, flags */
void check_objects(struct check *check); /* csidriver, finalizers, nodes */
void check_classes(struct check *check); /* class, topology */
void check_users(struct check *check);   /* secret, key, caps */
void check_drivers_done(struct check *check);
