/* Which drivers run, from which images, and what becomes of their command lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/usage/storage_class.h"
#include "programs/cephcsi/options.h"
#include "programs/cephzone/check/check_internal.h"

/* The last release of Ceph-CSI that this driver was compared with. */
#define COMPARED_MAJOR 3
#define COMPARED_MINOR 17

void check_drivers_done(struct check *check)
{
    for (size_t i = 0; i < check->driver_count; i++) {
        free(check->drivers[i].name);
        free(check->drivers[i].image);
        string_list_done(&check->drivers[i].domain_labels);
    }
    free(check->drivers);
}

static struct check_driver *ensure_driver(struct check *check, const char *name)
{
    for (size_t i = 0; i < check->driver_count; i++)
        if (strcmp(check->drivers[i].name, name) == 0)
            return &check->drivers[i];
    struct check_driver *driver = array_add(check->drivers, check->driver_count);
    driver->name = xstrdup(name);
    return driver;
}

/* --- images --- */

/* "registry:5000/cephcsi/cephcsi:v3.17.0@sha256:..." -> "cephcsi:v3.17.0". Caller frees. */
static char *image_base(const char *image)
{
    const char *digest = strchr(image, '@');
    _cleanup_free_ char *plain = xstrndup(image, digest ? (size_t)(digest - image) : strlen(image));
    const char *slash = strrchr(plain, '/');

    return xstrdup(slash ? slash + 1 : plain);
}

static void take_image(struct check_driver *driver, const char *image)
{
    _cleanup_free_ char *base = image_base(image);
    const char *tag = strchr(base, ':');

    if (driver->image)
        return;
    driver->image = xstrdup(image);
    driver->is_own = text_has_prefix(base, "cephzone");
    driver->has_version = tag && sscanf(tag, ":v%u.%u", &driver->major, &driver->minor) == 2;
}

static void check_other_image(struct check *check, const struct check_driver *driver,
                              const char *image)
{
    if (strcmp(driver->image, image) != 0)
        check_add(check, CHECK_WARN, "version", driver->name,
                  "finish the rollout, so that one version serves all nodes",
                  "runs from two images, '%s' and '%s'", driver->image, image);
}

static void check_version(struct check *check, const struct check_driver *driver)
{
    static const char BOTH_WAYS[] =
        "compare the notes of that release with docs/migration.md before you count on going back";

    if (driver->is_own)
        return;
    if (!driver->has_version)
        check_add(check, CHECK_WARN, "version", driver->name, BOTH_WAYS,
                  "the image '%s' does not tell its version by a tag vN.N", driver->image);
    else if (driver->major > COMPARED_MAJOR ||
             (driver->major == COMPARED_MAJOR && driver->minor > COMPARED_MINOR))
        check_add(check, CHECK_WARN, "version", driver->name, BOTH_WAYS,
                  "Ceph-CSI %u.%u is newer than %d.%d, the last one that this driver was compared "
                  "with",
                  driver->major, driver->minor, COMPARED_MAJOR, COMPARED_MINOR);
    else if (driver->major < COMPARED_MAJOR)
        check_add(check, CHECK_WARN, "version", driver->name,
                  "update to Ceph-CSI 3 first, or switch and do not go back",
                  "Ceph-CSI %u.%u is older than 3.0, with which going back was not tried",
                  driver->major, driver->minor);
}

/* --- command lines --- */

struct judged {
    struct check *check;
    const char *driver;
};

static void report_option(void *context, enum option_use use, const char *flag, const char *reason)
{
    struct judged *judged = context;
    const char *separator = flag[0] ? ": " : "";

    if (use == OPTION_REFUSED)
        check_add(judged->check, CHECK_FAIL, "flags", judged->driver,
                  "remove or correct it before the switch: the driver would not start",
                  "refused: %s%s%s", flag, separator, reason);
    else
        check_add(judged->check, CHECK_WARN, "flags", judged->driver,
                  "nothing, if you do not count on it", "without effect: %s%s%s", flag, separator,
                  reason);
}

static void ignore_option(void *context, enum option_use use, const char *flag, const char *reason)
{
    (void)context;
    (void)use;
    (void)flag;
    (void)reason;
}

/* The words as options_judge() takes them, the program's name first. They point into @words; caller
 * frees the array. */
static char **arguments_of(const struct string_list *words)
{
    static char program[] = "cephcsi";
    char **argv = xcalloc(words->count + 2, sizeof(*argv));

    argv[0] = program;
    for (size_t i = 0; i < words->count; i++)
        argv[i + 1] = words->items[i];
    return argv;
}

/* Ceph's drivers are told their type; sidecars are not. */
static bool is_driver_container(const struct string_list *words)
{
    bool has_type = false;
    bool has_surroundings = false;

    for (size_t i = 0; i < words->count; i++) {
        const char *name = words->items[i] + strspn(words->items[i], "-");
        size_t length = strcspn(name, "=");

        has_type = has_type || (length == strlen("type") && strncmp(name, "type", length) == 0);
        has_surroundings = has_surroundings || text_has_prefix(name, "endpoint") ||
                           text_has_prefix(name, "drivername");
    }
    return has_type && has_surroundings;
}

static bool is_plugin_type(const char *type)
{
    return strcmp(type, "liveness") != 0 && strcmp(type, "controller") != 0;
}

static void take_options(struct check_driver *driver, const struct options *options)
{
    char *rest = NULL;
    _cleanup_free_ char *labels = xstrdup(options->domain_labels);

    driver->has_controller = driver->has_controller || options->controller_server;
    driver->has_node = driver->has_node || options->node_server;
    for (char *label = strtok_r(labels, ",;", &rest); label; label = strtok_r(NULL, ",;", &rest))
        if (!string_list_has(&driver->domain_labels, label))
            string_list_add(&driver->domain_labels, label);
}

/* The name of the driver that the workload is for: its plugin's, not that of a liveness container.
 * Caller frees; NULL if it is for none. */
static char *workload_driver(const struct kube_workload *workload)
{
    char *name = NULL;

    for (size_t i = 0; i < workload->container_count; i++) {
        _cleanup_string_list_ struct string_list words = {0};
        struct options options;

        kube_container_words(&workload->containers[i], &words);
        if (!is_driver_container(&words))
            continue;
        _cleanup_free_ char **argv = arguments_of(&words);
        options_judge(&options, (int)words.count + 1, argv, ignore_option, NULL);
        if (name && !is_plugin_type(options.type))
            continue;
        free(name);
        name = options.driver_name[0] ? xstrdup(options.driver_name)
                                      : xasprintf("%s.csi.ceph.com", options.type);
    }
    return name;
}

static void check_plugin(struct check *check, const char *name,
                         const struct kube_container *container, const struct string_list *words)
{
    struct judged judged = {check, name};
    struct check_driver *driver = ensure_driver(check, name);
    const char *image = container->image ? container->image : "";
    _cleanup_free_ char **argv = arguments_of(words);
    struct options options;

    take_image(driver, image);
    check_other_image(check, driver, image);
    options_judge(&options, (int)words->count + 1, argv, report_option, &judged);
    take_options(driver, &options);
}

static void take_sidecar(struct check_driver *driver, const struct kube_container *container,
                         const struct string_list *words)
{
    _cleanup_free_ char *base = image_base(container->image ? container->image : "");

    if (text_has_prefix(base, "csi-attacher") ||
        (container->name && strcmp(container->name, "csi-attacher") == 0))
        driver->has_attacher = true;
    for (size_t i = 0; i < words->count; i++)
        if (strstr(words->items[i], "feature-gates=") && strstr(words->items[i], "Topology=false"))
            driver->has_no_topology = true;
}

static void check_workload(struct check *check, const struct kube_workload *workload)
{
    _cleanup_free_ char *name = workload_driver(workload);

    for (size_t i = 0; name && i < workload->container_count; i++) {
        const struct kube_container *container = &workload->containers[i];
        _cleanup_string_list_ struct string_list words = {0};

        kube_container_words(container, &words);
        if (is_driver_container(&words))
            check_plugin(check, name, container, &words);
        else
            take_sidecar(ensure_driver(check, name), container, &words);
    }
}

static void report_driver(struct check *check, const struct check_driver *driver)
{
    bool is_whole = driver->has_controller && driver->has_node;

    if (!storage_class_is_served(driver->name))
        return; /* refused already, by its type */
    if (is_whole)
        check_add(check, CHECK_PASS, "driver", driver->name, "", "%s, image '%s'",
                  driver->is_own ? "this driver" : "Ceph-CSI", driver->image);
    else
        check_add(check, CHECK_WARN, "driver", driver->name,
                  "deploy both, or give this tool the whole of the deployment",
                  "only its %s was found among the workloads",
                  driver->has_controller ? "controller"
                  : driver->has_node     ? "node plugin"
                                         : "sidecars");
    check_version(check, driver);
}

void check_drivers(struct check *check)
{
    const struct check_world *world = check->world;

    for (size_t i = 0; i < world->workload_count; i++)
        check_workload(check, &world->workloads[i]);
    for (size_t i = 0; i < check->driver_count; i++)
        report_driver(check, &check->drivers[i]);
    if (check->driver_count == 0) {
        check_add(check, CHECK_WARN, "driver", "",
                  "dump Deployments and DaemonSets of all namespaces as well, if there is a driver",
                  "no workload runs a driver for Ceph");
        return;
    }
    check_add_pass(check, "version", "Ceph-CSI up to %d.%d, or this driver", COMPARED_MAJOR,
                   COMPARED_MINOR);
    check_add_pass(check, "flags", "every flag of the drivers has its effect");
}
