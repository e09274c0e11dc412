#include "common/kube/kube.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"

#define NAME_MAX_BYTES 253
#define EMPTY_PAGES_MAX 100

void kube_free(struct kube *kube)
{
    if (kube)
        kube->ops->free(kube);
}

void kube_page_done(struct kube_page *page)
{
    json_decref(page->items);
    free(page->resource_version);
    free(page->next);
    *page = (struct kube_page){0};
}

/* --- paths --- */

/* Wider than DNS labels (some kinds allow ':' and upper case), narrower than what could change a
 * path or a query. */
static bool is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-._:";
    size_t length = strlen(name);

    return length > 0 && length <= NAME_MAX_BYTES && strspn(name, allowed) == length &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int add_part(struct text *path, const char *what, const char *part, struct error *err)
{
    if (!is_name(part))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.*s' is not a %s of Kubernetes",
                         NAME_MAX_BYTES, part, what);
    text_addf(path, "/%s", part);
    return 0;
}

int kube_path(const struct kube_location *location, char **path, struct error *err)
{
    _cleanup_text_ struct text text = TEXT_INIT(4096);

    text_addf(&text, "/%s/%s", strchr(location->api, '/') ? "apis" : "api", location->api);
    if (location->name_space) {
        text_add(&text, "/namespaces");
        if (add_part(&text, "namespace", location->name_space, err) < 0)
            return -1;
    }
    text_addf(&text, "/%s", location->resource);
    if (location->name && add_part(&text, "name", location->name, err) < 0)
        return -1;
    if (location->subresource)
        text_addf(&text, "/%s", location->subresource);
    *path = text_take(&text);
    return 0;
}

int kube_object_path(enum kube_kind kind, const char *name_space, const char *name, char **path,
                     struct error *err)
{
    const struct kube_location location = {.api = kube_kind_api(kind),
                                           .resource = kube_kind_resource(kind),
                                           .name_space = name_space,
                                           .name = name};

    return kube_path(&location, path, err);
}

/* --- lists --- */

struct page_listing {
    struct kube *kube;
    struct call *call;
    const char *path;
    const struct kube_select *select;
    const struct kube_list_sink *sink;
};

/* One page, or as much of it as is not too large. */
static int get_page(const struct page_listing *listing, struct kube_list_options *options,
                    struct kube_page *page, struct error *err)
{
    struct kube *kube = listing->kube;

    while (kube->ops->list_page(kube, listing->call, listing->path, options, page, err) < 0) {
        if (err->sys_errno != EMSGSIZE || options->limit == 1)
            return -1;
        error_clear(err);
        options->limit = options->limit == 0 ? KUBE_PAGE_ITEMS : (options->limit + 3) / 4;
    }
    return 0;
}

/* One pass over all pages. Pages without items but with a position are followed a bounded number of
 * times, in case the server is broken. */
static int list_once(const struct page_listing *listing, unsigned limit, char **resource_version,
                     struct error *err)
{
    struct kube_list_options options = {*listing->select, limit, NULL};
    _cleanup_free_ char *position = NULL;
    unsigned empty_pages = 0;

    listing->sink->start(listing->sink->object);
    do {
        _cleanup_(kube_page_done) struct kube_page page = {0};

        if (get_page(listing, &options, &page, err) < 0)
            return -1;
        for (size_t i = 0; i < json_array_size(page.items); i++)
            if (listing->sink->item(listing->sink->object, json_array_get(page.items, i), err) < 0)
                return -1;
        empty_pages = json_array_size(page.items) > 0 ? 0 : empty_pages + 1;
        if (empty_pages > EMPTY_PAGES_MAX)
            return error_set(err, STATUS_UNAVAILABLE,
                             "list %s: the server sends empty pages without end", listing->path);
        free(position);
        options.position = position = TAKE(page.next);
        if (!position)
            *resource_version = TAKE(page.resource_version);
    } while (position);
    return 0;
}

int kube_list(struct kube *kube, struct call *call, const char *path,
              const struct kube_select *select, const struct kube_list_sink *sink,
              char **resource_version, struct error *err)
{
    static const struct kube_select all = {0};
    const struct page_listing listing = {kube, call, path, select ? select : &all, sink};

    for (unsigned restart = 0;; restart++) {
        unsigned limit = restart < KUBE_LIST_RESTARTS ? KUBE_PAGE_ITEMS : 0;

        if (list_once(&listing, limit, resource_version, err) == 0)
            return 0;
        if (err->status != STATUS_OUT_OF_RANGE || restart == KUBE_LIST_RESTARTS)
            return -1;
        error_clear(err);
    }
}

/* --- objects --- */

struct object_listing {
    const struct kube_object_query *query;
    const struct kube_object_sink *sink;
};

static void start_objects(void *context)
{
    const struct object_listing *listing = context;

    listing->sink->start(listing->sink->context);
}

static int give_object(void *context, json_t *item, struct error *err)
{
    const struct object_listing *listing = context;
    const struct kube_object_query *query = listing->query;
    void *object = NULL;

    if (query->driver && strcmp(kube_object_driver(query->kind, item), query->driver) != 0)
        return 0;
    if (kube_object_decode(query->kind, item, &object, err) < 0)
        return -1;
    int result = listing->sink->object(listing->sink->context, object, err);
    kube_object_free(query->kind, object);
    return result;
}

int kube_list_objects(struct kube *kube, struct call *call, const struct kube_object_query *query,
                      const struct kube_object_sink *sink, struct error *err)
{
    struct object_listing listing = {query, sink};
    const struct kube_list_sink items = {start_objects, give_object, &listing};
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *version = NULL;

    if (kube_object_path(query->kind, query->name_space, NULL, &path, err) < 0)
        return -1;
    return kube_list(kube, call, path, &query->select, &items, &version, err);
}

/* --- time --- */

char *kube_time_now(bool with_micros)
{
    struct timespec now;
    struct tm tm;
    char seconds[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
    if (!with_micros)
        return xasprintf("%sZ", seconds);
    return xasprintf("%s.%06ldZ", seconds, now.tv_nsec / 1000);
}
