#include "common/kube/fence_notes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"

#define TRIES 8       /* of a change, while others change the object too */
#define SEPARATOR '_' /* neither in names of drivers nor of nodes */
#define MEMBER "member."

/* --- reading --- */

static const struct json_field NOTE_FIELDS[] = {
    JSON_FIELD_STRINGS("addresses", struct fence_note, addresses),
    JSON_FIELD_STRINGS("releasing", struct fence_note, releasing),
    JSON_FIELD_STRINGS("found", struct fence_note, found),
    JSON_FIELD_STRING("bootID", struct fence_note, boot_id),
    JSON_FIELD_STRING("systemUUID", struct fence_note, machine),
    JSON_FIELD_STRMAP("segments", struct fence_note, segments),
};
static const struct json_table NOTE_TABLE = JSON_TABLE(struct fence_note, NOTE_FIELDS);

void fence_notes_done(struct fence_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        json_free_fields(&NOTE_TABLE, &notes->items[i]);
        free(notes->items[i].driver);
        free(notes->items[i].node);
    }
    free(notes->items);
    free(notes->version);
    *notes = (struct fence_notes){0};
}

static int add_note(struct fence_notes *notes, const char *key, const char *text, struct error *err)
{
    const char *separator = strchr(key, SEPARATOR);
    json_auto_t *json = NULL;

    if (!separator || !text)
        return error_set(err, STATUS_FAILED_PRECONDITION, "'%.253s' is no note of a driver", key);
    struct fence_note *note = array_add(notes->items, notes->count);
    *note = (struct fence_note){.driver = xstrndup(key, (size_t)(separator - key)),
                                .node = xstrdup(separator + 1)};
    if (json_load_text(text, strlen(text), key, &json, err) < 0 ||
        json_decode(json, &NOTE_TABLE, note, err) < 0)
        return -1;
    if (note->addresses.count == 0)
        return error_set(err, STATUS_FAILED_PRECONDITION, "'%.253s' names no address", key);
    if (!note->boot_id)
        note->boot_id = xstrdup("");
    if (!note->machine)
        note->machine = xstrdup("");
    return 0;
}

static int get_path(const struct fence_notes_place *place, bool is_collection, char **path,
                    struct error *err)
{
    const struct kube_location location = {.api = "v1",
                                           .resource = "configmaps",
                                           .name_space = place->name_space,
                                           .name = is_collection ? NULL : FENCE_NOTES_CONFIGMAP};

    return kube_path(&location, path, err);
}

int fence_notes_read(const struct fence_notes_place *place, struct call *call,
                     struct fence_notes *out, struct error *err)
{
    _cleanup_fence_notes_ struct fence_notes notes = {0};
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = NULL;

    if (get_path(place, false, &path, err) < 0)
        return -1;
    if (place->kube->ops->get(place->kube, call, path, &item, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return error_wrap(err, "notes of what is fenced");
        error_clear(err);
        return 0;
    }
    json_t *data = json_object_get(item, "data");
    for (void *i = json_object_iter(data); i; i = json_object_iter_next(data, i))
        if (add_note(&notes, json_object_iter_key(i), json_string_value(json_object_iter_value(i)),
                     err) < 0)
            return error_wrap(err, "ConfigMap " FENCE_NOTES_CONFIGMAP);
    notes.version = xstrdup(kube_resource_version(item));
    *out = notes;
    notes = (struct fence_notes){0};
    return 0;
}

static bool is_others(const struct fence_note *note, const char *driver, const char *address)
{
    return (!driver || strcmp(note->driver, driver) != 0) &&
           string_list_has(&note->addresses, address);
}

const struct fence_note *fence_notes_holder(const struct fence_notes *notes, const char *driver,
                                            const char *address)
{
    for (size_t i = 0; i < notes->count; i++)
        if (is_others(&notes->items[i], driver, address) &&
            !string_list_has(&notes->items[i].releasing, address))
            return &notes->items[i];
    return NULL;
}

bool fence_notes_is_leaving(const struct fence_notes *notes, const char *driver,
                            const char *address)
{
    for (size_t i = 0; i < notes->count; i++)
        if (is_others(&notes->items[i], driver, address) &&
            string_list_has(&notes->items[i].releasing, address))
            return true;
    return false;
}

/* --- on nodes --- */

static void add_all(struct string_list *list, const struct string_list *more)
{
    for (size_t i = 0; i < more->count; i++)
        if (!string_list_has(list, more->items[i]))
            string_list_add(list, more->items[i]);
}

/* All that is known of a node which the API server does not have. */
static struct cluster_node *add_gone_node(const struct fence_note *note,
                                          struct cluster_nodes *nodes)
{
    struct cluster_node *node = cluster_nodes_add_gone(nodes, note->node);

    for (size_t i = 0; i < note->segments.count; i++) {
        _cleanup_free_ char *key =
            xasprintf("topology.%s/%s", note->driver, note->segments.entries[i].key);
        strmap_set(&node->labels, key, note->segments.entries[i].value);
    }
    return node;
}

void fence_notes_join(const struct fence_notes *notes, const char *driver,
                      struct cluster_nodes *nodes)
{
    const size_t listed = nodes->count;
    size_t hint = 0; /* both come in the order of names */

    for (size_t i = 0; i < notes->count; i++) {
        const struct fence_note *note = &notes->items[i];
        struct cluster_node *node = NULL;

        if (strcmp(note->driver, driver) != 0)
            continue;
        for (size_t j = 0; j < listed && !node; j++)
            if (strcmp(nodes->items[(hint + j) % listed].name, note->node) == 0)
                node = &nodes->items[(hint + j) % listed];
        if (node)
            hint = (size_t)(node - nodes->items) + 1;
        else
            node = add_gone_node(note, nodes);
        add_all(&node->fenced_addresses, &note->addresses);
        add_all(&node->found_addresses, &note->found);
        node->is_releasing = note->releasing.count > 0;
        free(node->fenced_boot_id);
        node->fenced_boot_id = xstrdup(note->boot_id);
        free(node->fenced_machine);
        node->fenced_machine = xstrdup(note->machine);
    }
}

/* --- writing --- */

/* Caller frees. */
static char *text_of_note(const struct fence_note *note)
{
    json_auto_t *json = json_pack(
        "{s:o, s:o, s:o, s:s, s:s, s:o}", "addresses", json_from_strings(&note->addresses),
        "releasing", json_from_strings(&note->releasing), "found", json_from_strings(&note->found),
        "bootID", note->boot_id, "systemUUID", note->machine, "segments",
        json_from_strmap(&note->segments));

    return json_dumps(json, JSON_COMPACT);
}

/* @text NULL removes the note. With @version only if the object is still that one. */
static int write_note(const struct fence_notes_place *place, struct call *call, const char *node,
                      const char *text, const char *version, struct error *err)
{
    _cleanup_free_ char *key = xasprintf("%s%c%s", place->driver, SEPARATOR, node);
    _cleanup_free_ char *path = NULL;
    json_auto_t *changes = version ? json_pack("{s:{s:s}, s:{s:s?}}", "metadata", "resourceVersion",
                                               version, "data", key, text)
                                   : json_pack("{s:{s:s?}}", "data", key, text);

    if (get_path(place, false, &path, err) < 0)
        return -1;
    return place->kube->ops->patch(place->kube, call, path, changes, NULL, err);
}

static int create_notes(const struct fence_notes_place *place, struct call *call, struct error *err)
{
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                                  "metadata", "name", FENCE_NOTES_CONFIGMAP);

    if (get_path(place, true, &path, err) < 0)
        return -1;
    if (place->kube->ops->create(place->kube, call, path, item, NULL, err) == 0)
        return 0;
    if (err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(err); /* the other driver was faster */
    return 0;
}

/* The plain segments of the driver among the node's labels. */
static void add_segments(const char *driver, const struct cluster_node *node,
                         struct strmap *segments)
{
    _cleanup_free_ char *prefix = xasprintf("topology.%s/", driver);

    for (size_t i = 0; i < node->labels.count; i++) {
        const char *key = node->labels.entries[i].key;

        if (text_has_prefix(key, prefix) && !text_has_prefix(key + strlen(prefix), MEMBER))
            strmap_set(segments, key + strlen(prefix), node->labels.entries[i].value);
    }
}

/* Whether a note says that its driver has fenced the address, or is about to. */
static bool is_owned(const struct fence_notes *notes, const char *address)
{
    for (size_t i = 0; i < notes->count; i++)
        if (string_list_has(&notes->items[i].addresses, address) &&
            !string_list_has(&notes->items[i].found, address))
            return true;
    return false;
}

void fence_notes_find(const struct fence_notes *notes, const struct cluster_node *node,
                      const struct string_list *fenced, struct string_list *found)
{
    struct string_list all = {0};

    add_all(&all, &node->fenced_addresses);
    add_all(&all, &node->addresses);
    for (size_t i = 0; i < all.count; i++)
        if (string_list_has(fenced, all.items[i]) && !is_owned(notes, all.items[i]))
            string_list_add(found, all.items[i]);
    string_list_done(&all);
}

int fence_notes_record(const struct fence_notes_place *place, struct call *call,
                       const struct cluster_node *node, const struct string_list *found,
                       struct error *err)
{
    /* what ran before it was wholly fenced may hold unwritten data, whatever ran earlier */
    const char *boot_id = text_is_empty(node->boot_id) ? node->fenced_boot_id : node->boot_id;
    const char *machine =
        text_is_empty(node->fenced_machine) ? node->machine : node->fenced_machine;
    struct fence_note note = {.boot_id = xstrdup(boot_id ? boot_id : ""),
                              .machine = xstrdup(machine ? machine : "")};

    add_all(&note.addresses, &node->fenced_addresses);
    add_all(&note.addresses, &node->addresses);
    add_all(&note.found, found);
    add_segments(place->driver, node, &note.segments);
    _cleanup_free_ char *text = text_of_note(&note);
    json_free_fields(&NOTE_TABLE, &note);
    if (write_note(place, call, node->name, text, NULL, err) == 0)
        return 0;
    if (err->status == STATUS_NOT_FOUND) {
        error_clear(err);
        if (create_notes(place, call, err) == 0 &&
            write_note(place, call, node->name, text, NULL, err) == 0)
            return 0;
    }
    return error_wrap(err, "note that node '%s' is fenced", node->name);
}

/* One attempt to change the driver's note of a node, as it is now. */
typedef int change_note_fn(const struct fence_notes_place *place, struct call *call,
                           const struct fence_notes *notes, struct fence_note *note,
                           const void *object, struct error *err);

static int change_note(const struct fence_notes_place *place, struct call *call, const char *node,
                       change_note_fn *change, const void *object, struct error *err)
{
    for (int i = 0; i < TRIES; i++) {
        _cleanup_fence_notes_ struct fence_notes notes = {0};
        struct fence_note *note = NULL;

        error_clear(err);
        if (fence_notes_read(place, call, &notes, err) < 0)
            return -1;
        for (size_t j = 0; j < notes.count && !note; j++)
            if (strcmp(notes.items[j].driver, place->driver) == 0 &&
                strcmp(notes.items[j].node, node) == 0)
                note = &notes.items[j];
        if (!note)
            return 0; /* somebody has dropped it: it is done with */
        if (change(place, call, &notes, note, object, err) == 0)
            return 0;
        if (err->status != STATUS_ABORTED)
            return -1;
    }
    return -1;
}

static int renew_note(const struct fence_notes_place *place, struct call *call,
                      const struct fence_notes *notes, struct fence_note *note, const void *object,
                      struct error *err)
{
    free(note->boot_id);
    note->boot_id = xstrdup(object);
    _cleanup_free_ char *text = text_of_note(note);
    return write_note(place, call, note->node, text, notes->version, err);
}

int fence_notes_renew(const struct fence_notes_place *place, struct call *call,
                      const struct cluster_node *node, struct error *err)
{
    return change_note(place, call, node->name, renew_note, node->boot_id, err) < 0
               ? error_wrap(err, "note that node '%s' has rebooted", node->name)
               : 0;
}

static int release_address(const struct fence_notes_place *place, struct call *call,
                           const struct fence_notes *notes, struct fence_note *note,
                           const void *object, struct error *err)
{
    const char *address = object;
    const struct fence_note *holder = fence_notes_holder(notes, place->driver, address);

    if (holder)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "'%s' has to stay fenced: %s needs it, for node '%s'", address,
                         holder->driver, holder->node);
    if (string_list_has(&note->releasing, address))
        return 0;
    string_list_add(&note->releasing, address);
    _cleanup_free_ char *text = text_of_note(note);
    return write_note(place, call, note->node, text, notes->version, err);
}

int fence_notes_release(const struct fence_notes_place *place, struct call *call, const char *node,
                        const char *address, struct error *err)
{
    return change_note(place, call, node, release_address, address, err) < 0
               ? error_wrap(err, "note that node '%s' is let in", node)
               : 0;
}

static int drop_note(const struct fence_notes_place *place, struct call *call,
                     const struct fence_notes *notes, struct fence_note *note, const void *object,
                     struct error *err)
{
    const struct string_list *left = object;

    for (size_t i = 0; i < left->count; i++)
        if (!fence_notes_holder(notes, place->driver, left->items[i]))
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "'%s' is fenced, and no other driver needs that any more",
                             left->items[i]);
    return write_note(place, call, note->node, NULL, notes->version, err);
}

int fence_notes_forget(const struct fence_notes_place *place, struct call *call, const char *node,
                       const struct string_list *left, struct error *err)
{
    return change_note(place, call, node, drop_note, left, err) < 0
               ? error_wrap(err, "drop the note of node '%s'", node)
               : 0;
}
