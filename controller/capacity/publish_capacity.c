#include "controller/capacity/publish_capacity.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/cluster_nodes.h"
#include "common/kube/kube.h"
#include "common/topology/domain.h"

#define ASK_MS 30000 /* for one figure */
#define PLACE_LIMIT 4096

void publish_outcome_done(struct publish_outcome *outcome)
{
    for (size_t i = 0; i < outcome->figure_count; i++)
        free_all(outcome->figures[i].class, outcome->figures[i].place);
    free_all(outcome->figures, outcome->foreign);
    *outcome = (struct publish_outcome){0};
}

/* --- what there is to publish about --- */

void publish_view_done(struct publish_view *view)
{
    capacity_classes_done(&view->classes);
    for (size_t i = 0; i < view->segment_count; i++)
        strmap_done(&view->segments[i]);
    free_all(view->segments, view->owner, view->remark);
    *view = (struct publish_view){0};
}

static void add_segment(struct publish_view *view, struct strmap *segment)
{
    for (size_t i = 0; i < view->segment_count; i++)
        if (strmap_is_equal(&view->segments[i], segment))
            return;
    *array_add(view->segments, view->segment_count) = *segment;
    *segment = (struct strmap){0};
}

/* Where nodes are that have the driver, by the labels that kubelet set. A node that lacks one of
 * them has no place yet, and so has one without keys where nodes are to have places: a segment of
 * no keys would promise its capacity to every node. */
static void find_segments(const struct cluster_nodes *nodes, bool has_levels,
                          struct publish_view *view)
{
    for (size_t i = 0; i < nodes->count && !has_levels; i++)
        has_levels = nodes->items[i].has_driver && nodes->items[i].keys.count > 0;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct cluster_node *node = &nodes->items[i];
        _cleanup_strmap_ struct strmap segment = {0};

        if (!node->has_driver || (has_levels && node->keys.count == 0))
            continue;
        for (size_t j = 0; j < node->keys.count; j++) {
            const char *value = strmap_get(&node->labels, node->keys.items[j]);

            if (value)
                strmap_set(&segment, node->keys.items[j], value);
        }
        if (segment.count == node->keys.count)
            add_segment(view, &segment);
    }
}

/* Without a CSIDriver the scheduler looks at no capacity, and there is nothing that could take the
 * objects away: there are to be none. One that may not be read is another matter. */
static void find_owner(const struct publish_site *site, struct call *call,
                       struct publish_view *view)
{
    _cleanup_error_ struct error err = {0};

    if (capacity_owner_read(site->kube, call, site->driver_name, &view->owner, &err) < 0) {
        view->owner = xstrdup("");
        view->remark = xasprintf(
            "the objects have no owner and stay when the driver is removed: %s", err.message);
    } else if (view->owner[0] == '\0') {
        view->is_installed = false;
        view->remark =
            xasprintf("there is no CSIDriver '%s': nothing is published", site->driver_name);
    }
}

static int read_view(const struct publish_site *site, struct call *call, struct publish_view *out,
                     struct error *err)
{
    _cleanup_cluster_nodes_ struct cluster_nodes nodes = {0};
    _cleanup_publish_view_ struct publish_view view = {.is_read = true, .is_installed = true};

    if (cluster_nodes_read(site->kube, call, site->driver_name, &nodes, err) < 0 ||
        capacity_classes_read(site->kube, call, site->driver_name, &view.classes, err) < 0)
        return -1;
    find_segments(&nodes, site->has_levels, &view);
    find_owner(site, call, &view);
    *out = view;
    view = (struct publish_view){0};
    return 0;
}

/* --- one round --- */

struct publishing {
    const struct publish_site *site;
    const struct publish_view *view;
    struct call *call;
    publish_may_act_fn *may_act;
    void *may_act_object;
    struct capacity_objects objects;
    bool *is_wanted; /* of each object */
    struct publish_outcome *outcome;
};

/* The first is wanted; further ones of the same class and place are duplicates. */
static struct capacity_object *find_object(struct publishing *publishing, const char *class,
                                           const struct strmap *segment)
{
    for (size_t i = 0; i < publishing->objects.count; i++) {
        struct capacity_object *object = &publishing->objects.items[i];

        if (strcmp(object->class, class) == 0 && strmap_is_equal(&object->segment, segment)) {
            publishing->is_wanted[i] = true;
            return object;
        }
    }
    return NULL;
}

/* The figure, the owner or the heartbeat. A heartbeat of the future is of a clock that was wrong.
 */
static bool needs_write(const struct publishing *publishing, const struct capacity_object *found,
                        const struct published_capacity *capacity)
{
    const char *owner = publishing->view->owner;
    const time_t now = time(NULL);

    return found->bytes != capacity->available_bytes ||
           found->has_maximum != capacity->has_maximum ||
           (capacity->has_maximum && found->maximum_bytes != capacity->maximum_bytes) ||
           (owner[0] && strcmp(found->owner, owner) != 0) ||
           now - found->refreshed >= CAPACITY_HEARTBEAT_S ||
           found->refreshed - now >= CAPACITY_HEARTBEAT_S;
}

/* "zone=zone-a,rack=r1": segments without their prefix and without membership. Caller frees. */
static char *format_place(const struct strmap *segment)
{
    _cleanup_text_ struct text text = TEXT_INIT(PLACE_LIMIT);

    for (size_t i = 0; i < segment->count; i++) {
        const char *key = segment->entries[i].key;
        const char *slash = strchr(key, '/');

        if (!membership_tail(key))
            text_addf(&text, "%s%s=%s", text.length ? "," : "", slash ? slash + 1 : key,
                      segment->entries[i].value);
    }
    return xstrdup(text_chars(&text));
}

static void note_figure(struct publish_outcome *outcome, const char *class,
                        const struct strmap *segment, uint64_t bytes)
{
    *array_add(outcome->figures, outcome->figure_count) =
        (struct publish_figure){xstrdup(class), format_place(segment), bytes};
}

/* Without a heartbeat it is of an older version, and its age is not known. */
static bool is_stale(const struct capacity_object *object)
{
    return object->refreshed > 0 && time(NULL) - object->refreshed > CAPACITY_STALE_S;
}

static int write_object(struct publishing *publishing, struct capacity_object *found,
                        const char *class, const struct strmap *segment,
                        const struct published_capacity *capacity, struct error *err)
{
    const struct publish_site *site = publishing->site;
    struct capacity_object object = {
        .name = found ? found->name : NULL,
        .class = (char *)(uintptr_t) class,
        .segment = *segment,
        .bytes = capacity->available_bytes,
        .maximum_bytes = capacity->maximum_bytes,
        .has_maximum = capacity->has_maximum,
        .owner = publishing->view->owner,
    };

    if ((found && !needs_write(publishing, found, capacity)) ||
        !publishing->may_act(publishing->may_act_object))
        return 0;
    int result = found ? capacity_object_update(site->kube, publishing->call, site->name_space,
                                                site->driver_name, &object, err)
                       : capacity_object_create(site->kube, publishing->call, site->name_space,
                                                site->driver_name, &object, err);
    publishing->outcome->writes += result == 0;
    return result;
}

static int publish_one(struct publishing *publishing, const struct capacity_class *class,
                       const struct strmap *segment, struct error *err)
{
    const struct publish_site *site = publishing->site;
    struct capacity_object *found = find_object(publishing, class->name, segment);
    struct published_capacity capacity = {0};
    struct call call;

    call_init(&call, 0, "publish-capacity",
              deadline_earlier(publishing->call->deadline, deadline_in_ms(ASK_MS)));
    call.cancelled = publishing->call->cancelled;
    int result = site->ask(site->object, &call, &class->parameters, segment, &capacity, err);
    call_done(&call);
    if (result < 0 && found && is_stale(found)) {
        publishing->is_wanted[found - publishing->objects.items] = false;
        found = NULL;
    }
    if (result == 0) {
        note_figure(publishing->outcome, class->name, segment, capacity.available_bytes);
        result = write_object(publishing, found, class->name, segment, &capacity, err);
    }
    publishing->outcome->objects += found || result == 0;
    return result < 0 ? error_wrap(err, "capacity of class '%s'", class->name) : 0;
}

/* Those that are not wanted, or all of ours where another manager publishes. */
static int remove_unwanted(struct publishing *publishing, struct error *err)
{
    const struct publish_site *site = publishing->site;

    for (size_t i = 0; i < publishing->objects.count; i++) {
        const struct capacity_object *object = &publishing->objects.items[i];

        if (publishing->is_wanted[i] || strcmp(object->manager, CAPACITY_MANAGER) != 0)
            continue;
        if (!publishing->may_act(publishing->may_act_object))
            return 0;
        if (capacity_object_remove(site->kube, publishing->call, site->name_space, object->name,
                                   err) < 0)
            return -1;
        publishing->outcome->writes++;
    }
    return 0;
}

static int publish_all(struct publishing *publishing, struct error *err)
{
    const struct publish_view *view = publishing->view;
    _cleanup_error_ struct error first = {0};

    const size_t count = view->is_installed ? view->classes.count * view->segment_count : 0;

    for (size_t i = 0; i < count; i++) {
        _cleanup_error_ struct error failure = {0};

        if (publish_one(publishing, &view->classes.items[i / view->segment_count],
                        &view->segments[i % view->segment_count], &failure) < 0 &&
            !first.message)
            error_move(&first, &failure);
    }
    if (remove_unwanted(publishing, err) < 0)
        return -1;
    return first.message ? error_move(err, &first) : 0;
}

int publish_capacity_once(const struct publish_site *site, struct call *call,
                          publish_may_act_fn *may_act, void *may_act_object,
                          struct publish_view *view, struct publish_outcome *outcome,
                          struct error *err)
{
    struct publishing publishing = {.site = site,
                                    .view = view,
                                    .call = call,
                                    .may_act = may_act,
                                    .may_act_object = may_act_object,
                                    .outcome = outcome};

    if (!view->is_read && read_view(site, call, view, err) < 0)
        return -1;
    if (capacity_objects_read(site->kube, call, site->name_space, site->driver_name,
                              &publishing.objects, err) < 0)
        return -1;
    publishing.is_wanted = xcalloc(publishing.objects.count + 1, sizeof(bool));
    for (size_t i = 0; i < publishing.objects.count && !outcome->foreign; i++) {
        const struct capacity_object *object = &publishing.objects.items[i];

        if (strcmp(object->manager, CAPACITY_MANAGER) != 0)
            outcome->foreign = xasprintf("object '%s' of '%s'", object->name, object->manager);
    }
    int result =
        outcome->foreign ? remove_unwanted(&publishing, err) : publish_all(&publishing, err);
    free(publishing.is_wanted);
    capacity_objects_done(&publishing.objects);
    return result;
}
