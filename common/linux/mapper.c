#include "common/linux/mapper.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/linux/mapper_internal.h"

static const struct {
    const char *name;
    const struct mapper *mapper;
} NAMES[] = {
    {"krbd", &MAPPER_KRBD},   {"rbd", &MAPPER_KRBD},  {"nbd", &MAPPER_NBD},
    {"rbd-nbd", &MAPPER_NBD}, {"fuse", &MAPPER_FUSE},
};

const struct mapper *mapper_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(NAMES); i++)
        if (strcmp(NAMES[i].name, name) == 0)
            return NAMES[i].mapper;
    return NULL;
}

int mapper_host_prepare(const struct mapper_host *mapper, struct error *err)
{
    const struct host_ops *ops = mapper->host->ops;
    _cleanup_free_ char *exports = xasprintf("%s/" FUSE_FOLDER, mapper->run_dir);
    _cleanup_free_ char *sockets = xasprintf("%s/" SOCKET_FOLDER, mapper->run_dir);

    if (ops->make_directory(mapper->host, mapper->run_dir, 0755, err) < 0 ||
        ops->make_directory(mapper->host, sockets, 0700, err) < 0)
        return -1;
    return ops->make_directory(mapper->host, exports, 0700, err);
}

/* A loop device is ours when its file is one of our exports, or when its file has gone. */
static int is_our_loop(const struct mapper_host *mapper, const char *name, bool *is_ours,
                       struct error *err)
{
    _cleanup_free_ char *path = xasprintf("/sys/block/%s/loop/backing_file", name);
    _cleanup_free_ char *prefix = xasprintf("%s/" FUSE_FOLDER "/", mapper->run_dir);
    _cleanup_free_ char *file = NULL;

    if (mapper->host->ops->sysfs_read(mapper->host, path, &file, err) < 0)
        return -1;
    *is_ours = !file || text_has_prefix(file, prefix);
    return 0;
}

int mapper_of_device(const struct mapper_host *mapper, const char *source,
                     const struct mapper **found, struct error *err)
{
    const char *name = text_has_prefix(source, "/dev/") ? source + strlen("/dev/") : source;
    bool is_ours = false;

    *found = NULL;
    if (text_has_prefix(name, "rbd")) {
        *found = &MAPPER_KRBD;
    } else if (text_has_prefix(name, "nbd")) {
        *found = &MAPPER_NBD;
    } else if (text_has_prefix(name, "loop") && !strchr(name, '/')) {
        if (is_our_loop(mapper, name, &is_ours, err) < 0)
            return -1;
        *found = is_ours ? &MAPPER_FUSE : NULL;
    }
    return 0;
}

/* --- options --- */

static int check_characters(const char *options, struct error *err)
{
    for (const char *c = options; *c; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "map options must not hold blanks or control characters");
    return 0;
}

static int unknown_name(const char *name, size_t length, struct error *err)
{
    _cleanup_free_ char *word = xstrndup(name, length);
    struct nearest nearest = NEAREST_INIT(word);

    for (size_t i = 0; i < ARRAY_LENGTH(NAMES); i++)
        nearest_offer(&nearest, NAMES[i].mapper->name);
    error_set(err, STATUS_INVALID_ARGUMENT,
              "map options are for '%s', but there are only krbd, nbd and fuse", word);
    if (nearest.name)
        return error_hint(err, "did you mean '%s'?", nearest.name);
    return error_hint(err, "a krbd option with a colon needs 'krbd:' before it");
}

int mapper_options(const char *text, const struct mapper *mapper, char **options, struct error *err)
{
    _cleanup_free_ char *parts = xstrdup(text);
    _cleanup_free_ char *found = xstrdup("");
    char *rest = NULL;

    if (check_characters(text, err) < 0)
        return -1;
    for (char *part = strtok_r(parts, ";", &rest); part; part = strtok_r(NULL, ";", &rest)) {
        const char *colon = strchr(part, ':');
        const struct mapper *of = &MAPPER_KRBD;

        if (colon) {
            _cleanup_free_ char *name = xstrndup(part, (size_t)(colon - part));

            of = mapper_find(name);
            if (!of || strcmp(of->name, name) != 0)
                return unknown_name(part, (size_t)(colon - part), err);
        }
        if (of != mapper)
            continue;
        free(found);
        found = xstrdup(colon ? colon + 1 : part);
    }
    *options = TAKE(found);
    return 0;
}

char *image_spec_text(const struct image_spec *spec)
{
    if (spec->rados_namespace[0])
        return xasprintf("%s/%s/%s", spec->pool, spec->rados_namespace, spec->image);
    return xasprintf("%s/%s", spec->pool, spec->image);
}

void mapped_image_done(struct mapped_image *mapped)
{
    free(mapped->device);
    *mapped = (struct mapped_image){0};
}

struct deadline mapper_deadline(const struct call *call)
{
    return deadline_earlier(call->deadline, deadline_in_ms(MAPPER_TIMEOUT_MS));
}
