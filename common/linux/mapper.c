#include "common/linux/mapper.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/linux/mapper_internal.h"

#define MODPROBE_TIMEOUT_MS 10000

#define MAPPER_ADDRESS(name) &(name),
const struct mapper *const MAPPERS[] = {MAPPER_ROWS(MAPPER_ADDRESS) NULL};

const struct mapper *mapper_find(const char *name)
{
    for (size_t i = 0; MAPPERS[i]; i++)
        if (strcmp(MAPPERS[i]->name, name) == 0 || strcmp(MAPPERS[i]->mounter, name) == 0)
            return MAPPERS[i];
    return NULL;
}

const struct mapper *mapper_find_recorded(const char *name, bool access_type)
{
    if (name)
        return mapper_find(name);
    for (size_t i = 0; MAPPERS[i]; i++)
        if (!MAPPERS[i]->is_named && MAPPERS[i]->access_type == access_type)
            return MAPPERS[i];
    return NULL;
}

int mapper_of_device(const struct mapper_host *mapper, const char *source,
                     const struct mapper **found, struct error *err)
{
    const char *name = text_has_prefix(source, "/dev/") ? source + strlen("/dev/") : source;

    *found = NULL;
    for (size_t i = 0; MAPPERS[i] && !*found; i++) {
        bool owns = text_has_prefix(name, MAPPERS[i]->device_prefix);

        if (owns && MAPPERS[i]->owns_device &&
            MAPPERS[i]->owns_device(mapper, name, &owns, err) < 0)
            return -1;
        if (owns)
            *found = MAPPERS[i];
    }
    return 0;
}

/* --- names that users write --- */

/* "krbd, nbd and fuse", or the mounters. Offers each to @nearest. Caller frees. */
static char *list_names(bool as_mounters, struct nearest *nearest)
{
    _cleanup_text_ struct text names = TEXT_INIT(1024);

    for (size_t i = 0; MAPPERS[i]; i++) {
        const char *name = as_mounters ? MAPPERS[i]->mounter : MAPPERS[i]->name;

        text_addf(&names, "%s%s", i == 0 ? "" : MAPPERS[i + 1] ? ", " : " and ", name);
        nearest_offer(nearest, name);
    }
    return text_take(&names);
}

int mapper_find_mounter(const char *mounter, const struct mapper **found, struct error *err)
{
    struct nearest nearest = NEAREST_INIT(mounter);

    *found = mapper_find(mounter);
    if (*found)
        return 0;
    _cleanup_free_ char *names = list_names(true, &nearest);
    error_set(err, STATUS_INVALID_ARGUMENT, "mounter '%.64s' is unknown; there are %s", mounter,
              names);
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
}

static int refuse_name(const char *name, struct error *err)
{
    struct nearest nearest = NEAREST_INIT(name);
    _cleanup_free_ char *names = list_names(false, &nearest);

    error_set(err, STATUS_INVALID_ARGUMENT, "map options are for '%s', but there are only %s", name,
              names);
    if (nearest.name)
        return error_hint(err, "did you mean '%s'?", nearest.name);
    return error_hint(err, "a %s option with a colon needs '%s:' before it", MAPPERS[0]->name,
                      MAPPERS[0]->name);
}

int mapper_options(const char *text, const struct mapper *mapper, char **options, struct error *err)
{
    _cleanup_free_ char *parts = xstrdup(text);
    _cleanup_free_ char *found = xstrdup("");
    char *rest = NULL;

    for (const char *c = text; *c; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "map options must not hold blanks or control characters");
    for (char *part = strtok_r(parts, ";", &rest); part; part = strtok_r(NULL, ";", &rest)) {
        char *colon = strchr(part, ':');
        const struct mapper *of = MAPPERS[0];

        if (colon) {
            *colon = '\0';
            of = mapper_find(part);
            if (!of || strcmp(of->name, part) != 0)
                return refuse_name(part, err);
        }
        if (of != mapper)
            continue;
        free(found);
        found = xstrdup(colon ? colon + 1 : part);
    }
    *options = TAKE(found);
    return 0;
}

/* --- what they share --- */

char *image_spec_text(const struct image_spec *spec)
{
    if (spec->rados_namespace[0])
        return xasprintf("%s/%s/%s", spec->pool, spec->rados_namespace, spec->image);
    return xasprintf("%s/%s", spec->pool, spec->image);
}

const struct mount_entry *device_mount(const struct mount_list *mounts, const char *device)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].source, device) == 0 ||
            strcmp(mounts->items[i].root, device + strlen("/dev")) == 0)
            return &mounts->items[i];
    return NULL;
}

void mapped_image_done(struct mapped_image *mapped)
{
    free(mapped->device);
    string_list_done(&mapped->others);
    *mapped = (struct mapped_image){0};
}

struct deadline mapper_deadline(const struct call *call)
{
    return deadline_earlier(call->deadline, deadline_in_ms(MAPPER_TIMEOUT_MS));
}

bool mapper_load_driver(const struct mapper_host *mapper, struct call *call, const char *driver,
                        const char *sysfs_path, char **reason)
{
    struct host *host = mapper->host;
    _cleanup_string_list_ struct string_list names = {0};
    _cleanup_error_ struct error err = {0};
    const char *const argv[] = {"modprobe", driver, NULL};
    const struct subprocess modprobe = {
        .argv = argv,
        .deadline = deadline_earlier(call->deadline, deadline_in_ms(MODPROBE_TIMEOUT_MS))};

    if (host->ops->sysfs_list(host, sysfs_path, &names, &err) == 0 && names.count > 0)
        return true;
    error_clear(&err);
    if (host->ops->run(host, &modprobe, NULL, &err) == 0)
        return true;
    *reason = xasprintf("the kernel has no %s driver: %s", driver, err.message);
    return false;
}
