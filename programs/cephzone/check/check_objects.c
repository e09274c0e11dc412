/* CSIDrivers, finalizers that nobody removes, and nodes without labels. */
#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/usage/storage_class.h"
#include "programs/cephzone/check/check_internal.h"

#define EXAMPLES 3
#define ATTACH_RELEASE 15 /* Ceph-CSI 3.15 is the first that announces attach */

static bool has_class(const struct check *check, const char *driver, bool with_places)
{
    const struct cluster_objects *cluster = &check->world->cluster;

    for (size_t i = 0; i < cluster_count(cluster, KUBE_CLASS); i++) {
        const struct kube_class *class = cluster_at(cluster, KUBE_CLASS, i);

        if (kube_same(class->provisioner, driver) &&
            (!with_places || check_class_has_places(class)))
            return true;
    }
    return false;
}

/* --- CSIDriver --- */

/* Objects of CSIStorageCapacity for any of its classes. */
static bool has_capacity(const struct check *check, const char *driver)
{
    const struct cluster_objects *cluster = &check->world->cluster;

    for (size_t i = 0; i < cluster_count(cluster, KUBE_CAPACITY); i++) {
        const struct kube_capacity *capacity = cluster_at(cluster, KUBE_CAPACITY, i);
        const struct kube_class *class =
            cluster_find_class(cluster, kube_or_empty(capacity->class_name));

        if (class && kube_same(class->provisioner, driver))
            return true;
    }
    return false;
}

static void check_capacity(struct check *check, const struct kube_csi_driver *driver)
{
    const char *name = driver->meta.name;

    if (!driver->tracks_capacity && has_class(check, name, true))
        check_add(check, CHECK_WARN, "csidriver", name,
                  "run the driver with --publish-capacity, then set storageCapacity: true",
                  "storageCapacity is false: the scheduler chooses nodes without regard to free "
                  "space");
    if (driver->tracks_capacity && has_class(check, name, false) && !has_capacity(check, name))
        check_add(check, CHECK_FAIL, "csidriver", name,
                  "run the driver with --publish-capacity, or set storageCapacity: false",
                  "storageCapacity is true, but its classes have no CSIStorageCapacity: pods with "
                  "WaitForFirstConsumer claims stay pending");
}

static void check_csi_driver(struct check *check, const struct kube_csi_driver *driver)
{
    const char *name = driver->meta.name;
    const char *policy =
        driver->fs_group_policy ? driver->fs_group_policy : "ReadWriteOnceWithFSType";

    if (!driver->is_attached)
        check_add(check, CHECK_WARN, "csidriver", name,
                  "it cannot be changed: delete and create the CSIDriver while no pod starts",
                  "attachRequired is false: nobody is told that a volume leaves a node, so that "
                  "--enable-fencing does nothing");
    if (!driver->tells_pods)
        check_add(check, CHECK_WARN, "csidriver", name, "set podInfoOnMount: true",
                  "podInfoOnMount is false: limits of I/O for krbd and volumes that are restricted "
                  "to a ServiceAccount need it");
    if (strcmp(policy, "File") != 0)
        check_add(check, CHECK_WARN, "csidriver", name, "set fsGroupPolicy: File",
                  "fsGroupPolicy is %s: volumes of several writers do not get the pod's group",
                  policy);
    if (!driver->mounts_labelled)
        check_add(check, CHECK_WARN, "csidriver", name,
                  "set seLinuxMount: true, if nodes enforce SELinux",
                  "seLinuxMount is false: with SELinux every file of a volume is relabelled when a "
                  "pod starts");
    check_capacity(check, driver);
}

static void check_csi_drivers(struct check *check)
{
    const struct cluster_objects *cluster = &check->world->cluster;

    for (size_t i = 0; i < cluster_count(cluster, KUBE_CSI_DRIVER); i++) {
        const struct kube_csi_driver *driver = cluster_at(cluster, KUBE_CSI_DRIVER, i);

        if (storage_class_is_served(driver->meta.name))
            check_csi_driver(check, driver);
    }
    for (size_t i = 0; i < check->driver_count; i++)
        if (storage_class_is_served(check->drivers[i].name) &&
            !cluster_find(cluster, KUBE_CSI_DRIVER, NULL, check->drivers[i].name))
            check_add(check, CHECK_FAIL, "csidriver", check->drivers[i].name,
                      "create it, as deploy/kustomize has it",
                      "the driver runs, but there is no CSIDriver of its name");
    check_add_pass(check, "csidriver", "the CSIDrivers say what the driver needs");
}

/* --- finalizers --- */

static const char FINALIZER[] = "external-attacher/";

/* As csi-attacher names it. Caller frees. */
static char *attacher_finalizer(const char *driver)
{
    char *name = xasprintf("%s%s", FINALIZER, driver);

    for (char *at = name + strlen(FINALIZER); *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            *at = '-';
    return name;
}

/* Why the finalizer of the driver stays; NULL if somebody removes it. *@until is the worst that
 * follows: with Ceph-CSI before 3.15 the switch itself helps. */
static const char *attach_fault(const struct check *check, const char *name,
                                enum check_result *result)
{
    const struct check_driver *driver = check_find_driver(check, name);
    const struct kube_csi_driver *object =
        cluster_find(&check->world->cluster, KUBE_CSI_DRIVER, NULL, name);

    *result = CHECK_FAIL;
    if (!object)
        return "there is no CSIDriver of that name";
    if (!object->is_attached)
        return "its CSIDriver has attachRequired: false";
    if (check->world->workload_count == 0)
        return NULL; /* who runs is not known */
    if (!driver)
        return "no workload runs that driver";
    if (!driver->has_attacher)
        return "no csi-attacher runs beside that driver";
    *result = CHECK_WARN;
    if (!driver->is_own && driver->has_version && driver->major == 3 &&
        driver->minor < ATTACH_RELEASE)
        return "Ceph-CSI before 3.15 does not announce attach; this driver does, and removes them";
    return NULL;
}

struct leftovers {
    size_t count;
    size_t deleted;
    struct text examples;
};

static void count_leftover(struct leftovers *leftovers, const struct kube_meta *meta,
                           const char *finalizer)
{
    if (!string_list_has(&meta->finalizers, finalizer))
        return;
    leftovers->deleted += meta->deletion_timestamp != NULL;
    if (leftovers->count++ < EXAMPLES)
        text_addf(&leftovers->examples, "%s'%s'", leftovers->count == 1 ? "" : ", ", meta->name);
}

static void report_leftovers(struct check *check, const char *kind, const char *driver,
                             const struct leftovers *leftovers, const char *finalizer)
{
    enum check_result result = CHECK_FAIL;
    const char *fault = attach_fault(check, driver, &result);

    if (leftovers->count == 0 || !fault)
        return;
    check_add(check, result, "finalizers", driver,
              "run csi-attacher beside a driver that announces attach, as this one does, with "
              "attachRequired: true; or remove the finalizer from objects whose volume no node has "
              "mapped",
              "%zu %s(s), such as %s, have the finalizer '%s', and nobody removes it: %s; %zu of "
              "them hang in deletion",
              leftovers->count, kind, text_chars(&leftovers->examples), finalizer, fault,
              leftovers->deleted);
}

static void check_driver_finalizers(struct check *check, const char *driver)
{
    const struct cluster_objects *cluster = &check->world->cluster;
    _cleanup_free_ char *finalizer = attacher_finalizer(driver);
    struct leftovers attachments = {.examples = TEXT_INIT(1024)};
    struct leftovers volumes = {.examples = TEXT_INIT(1024)};

    for (size_t i = 0; i < cluster_count(cluster, KUBE_ATTACHMENT); i++) {
        const struct kube_attachment *attachment = cluster_at(cluster, KUBE_ATTACHMENT, i);

        if (kube_same(attachment->attacher, driver))
            count_leftover(&attachments, &attachment->meta, finalizer);
    }
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PV); i++) {
        const struct kube_pv *pv = cluster_at(cluster, KUBE_PV, i);

        if (kube_same(pv->driver, driver))
            count_leftover(&volumes, &pv->meta, finalizer);
    }
    report_leftovers(check, "VolumeAttachment", driver, &attachments, finalizer);
    report_leftovers(check, "PersistentVolume", driver, &volumes, finalizer);
    text_done(&attachments.examples);
    text_done(&volumes.examples);
}

static void add_name(struct string_list *names, const char *name)
{
    if (name && check_driver_is_ceph(name) && !string_list_has(names, name))
        string_list_add(names, name);
}

static void check_finalizers(struct check *check)
{
    const struct cluster_objects *cluster = &check->world->cluster;
    _cleanup_string_list_ struct string_list names = {0};

    for (size_t i = 0; i < cluster_count(cluster, KUBE_ATTACHMENT); i++)
        add_name(
            &names,
            ((const struct kube_attachment *)cluster_at(cluster, KUBE_ATTACHMENT, i))->attacher);
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PV); i++)
        add_name(&names, ((const struct kube_pv *)cluster_at(cluster, KUBE_PV, i))->driver);
    for (size_t i = 0; i < names.count; i++)
        check_driver_finalizers(check, names.items[i]);
    check_add_pass(check, "finalizers",
                   "no finalizer of csi-attacher is left without its attacher");
}

/* --- nodes --- */

static bool runs_on(const struct check *check, const char *driver, const char *node)
{
    const struct kube_csi_node *csi_node =
        cluster_find(&check->world->cluster, KUBE_CSI_NODE, NULL, node);

    for (size_t i = 0; csi_node && i < csi_node->driver_count; i++)
        if (kube_same(csi_node->drivers[i].name, driver))
            return true;
    return false;
}

static void check_node(struct check *check, const struct check_driver *driver,
                       const struct kube_node *node, enum check_result result)
{
    for (size_t i = 0; i < driver->domain_labels.count; i++) {
        const char *label = driver->domain_labels.items[i];

        if (!strmap_has(&node->meta.labels, label))
            check_add(check, result, "nodes", node->meta.name,
                      "label the node; this driver notices it without a restart",
                      "lacks the label '%s', which --domainlabels of '%s' names: Ceph-CSI does not "
                      "start there, and volumes with places cannot be used there",
                      label, driver->name);
    }
}

static void check_driver_nodes(struct check *check, const struct check_driver *driver)
{
    const struct cluster_objects *cluster = &check->world->cluster;
    bool has_places = has_class(check, driver->name, true);

    if (has_places && driver->has_node && driver->domain_labels.count == 0)
        check_add(check, CHECK_FAIL, "nodes", driver->name,
                  "give the node plugin --domainlabels (operator: nodePlugin.topology)",
                  "has classes whose volumes have places, but no --domainlabels: no node is in "
                  "one");
    for (size_t i = 0; i < cluster_count(cluster, KUBE_NODE); i++) {
        const struct kube_node *node = cluster_at(cluster, KUBE_NODE, i);

        if (cluster_count(cluster, KUBE_CSI_NODE) == 0 ||
            runs_on(check, driver->name, node->meta.name))
            check_node(check, driver, node, has_places ? CHECK_FAIL : CHECK_WARN);
    }
}

void check_objects(struct check *check)
{
    check_csi_drivers(check);
    check_finalizers(check);
    for (size_t i = 0; i < check->driver_count; i++)
        check_driver_nodes(check, &check->drivers[i]);
    check_add_pass(check, "nodes", "every node has the labels that the drivers name");
}
