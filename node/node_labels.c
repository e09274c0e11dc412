#include "node/node_labels.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/watched_file.h"
#include "common/encoding/json.h"
#include "common/topology/labels.h"

#define LABELS_BYTES_MAX (1024UL * 1024)

/* --- reading --- */

static int add_label(struct strmap *labels, const char *key, const char *value, struct error *err)
{
    if (label_key_check(key, err) < 0)
        return -1;
    if (label_value_check(value, err) < 0)
        return error_wrap(err, "label '%s'", key);
    if (strmap_has(labels, key))
        return error_set(err, STATUS_INVALID_ARGUMENT, "label '%s' is given twice", key);
    strmap_set(labels, key, value);
    return 0;
}

/* k=v or k="v", which needs no escapes in a label's value. Changes @pair. */
static int add_pair(struct strmap *labels, char *pair, struct error *err)
{
    char *equals = strchr(pair, '=');

    if (!equals)
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected label=value, found '%.80s'", pair);
    *equals = '\0';
    char *value = text_trim(equals + 1);
    size_t length = strlen(value);
    if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
        value[length - 1] = '\0';
        value++;
    }
    return add_label(labels, text_trim(pair), value, err);
}

static int add_lines(struct strmap *labels, const char *content, struct error *err)
{
    size_t number = 1;

    for (const char *line = content; *line; number++) {
        size_t length = strcspn(line, "\n");
        _cleanup_free_ char *copy = xstrndup(line, length);
        char *pair = text_trim(copy);

        if (pair[0] != '\0' && pair[0] != '#' && add_pair(labels, pair, err) < 0)
            return error_wrap(err, "line %zu", number);
        line += length + (line[length] == '\n');
    }
    return 0;
}

static int add_json(struct strmap *labels, const char *content, const char *path, struct error *err)
{
    json_auto_t *root = NULL;

    if (json_load_text(content, strlen(content), path, &root, err) < 0)
        return -1;
    for (void *i = json_object_iter(root); i; i = json_object_iter_next(root, i)) {
        const char *value = json_string_value(json_object_iter_value(i));

        if (!value)
            error_set(err, STATUS_INVALID_ARGUMENT, "label '%.80s': expected a string",
                      json_object_iter_key(i));
        if (!value || add_label(labels, json_object_iter_key(i), value, err) < 0)
            return error_wrap(err, "%s", path);
    }
    return 0;
}

/* --- the command line --- */

static int get_given(void *object, struct call *call, struct strmap *labels, struct error *err)
{
    (void)call, (void)err;
    strmap_merge(labels, object);
    return 0;
}

static bool given_is_healthy(void *object, char **message, time_t *since)
{
    (void)object;
    *message = xstrdup("");
    *since = 0;
    return true;
}

static void free_given(void *object)
{
    strmap_done(object);
    free(object);
}

int node_labels_from_text(const char *text, struct node_labels_source *source, struct error *err)
{
    _cleanup_strmap_ struct strmap labels = {0};

    for (const char *next = text; *next;) {
        size_t length = strcspn(next, ",");
        _cleanup_free_ char *pair = xstrndup(next, length);

        if (add_pair(&labels, pair, err) < 0)
            return -1;
        next += length + (next[length] == ',');
    }
    struct strmap *given = xmalloc(sizeof(*given));
    *given = labels;
    labels = (struct strmap){0};
    *source = (struct node_labels_source){
        given, xstrdup("node labels"), get_given, given_is_healthy, free_given, NULL};
    return 0;
}

/* --- a file --- */

struct labels_version {
    struct watched_version base;
    struct strmap labels;
};

static void release_labels(struct watched_version *version)
{
    struct labels_version *own = (struct labels_version *)version;

    strmap_done(&own->labels);
    free(own);
}

static int load_labels(const char *path, struct watched_version **out, struct error *err)
{
    _cleanup_text_ struct text content = TEXT_INIT(LABELS_BYTES_MAX);
    _cleanup_strmap_ struct strmap labels = {0};

    if (text_read_path(&content, path, err) < 0)
        return -1;
    const char *start = text_chars(&content);
    if (strlen(start) != content.length)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s: has a NUL byte", path);
    if (start[strspn(start, " \t\r\n")] == '{') {
        if (add_json(&labels, start, path, err) < 0)
            return -1;
    } else if (add_lines(&labels, start, err) < 0) {
        return error_wrap(err, "%s", path);
    }
    struct labels_version *own = xcalloc(1, sizeof(*own));
    watched_version_init(&own->base, release_labels);
    own->labels = labels;
    labels = (struct strmap){0};
    *out = &own->base;
    return 0;
}

static const struct watched_kind LABELS_FILE = {.what = "node labels", .load = load_labels};

static int get_from_file(void *object, struct call *call, struct strmap *labels, struct error *err)
{
    _cleanup_(watched_version_unrefp) struct watched_version *version = NULL;

    (void)call; /* the next call will find the file, if this does not */
    if (watched_file_get(object, &version, err) < 0)
        return -1;
    strmap_merge(labels, &((struct labels_version *)version)->labels);
    return 0;
}

static bool file_is_healthy(void *object, char **message, time_t *since)
{
    return watched_file_is_healthy(object, message, since);
}

static void free_file(void *object)
{
    watched_file_free(object);
}

void node_labels_from_file(const char *path, struct node_labels_source *source)
{
    *source = (struct node_labels_source){watched_file_new(path, &LABELS_FILE),
                                          xasprintf("file %s", path),
                                          get_from_file,
                                          file_is_healthy,
                                          free_file,
                                          NULL};
}

/* --- neither --- */

static int get_nothing(void *object, struct call *call, struct strmap *labels, struct error *err)
{
    (void)object, (void)call, (void)labels;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "nothing tells the labels of this node; give --node-labels, "
                     "--node-labels-file or --kubeconfig");
}

void node_labels_from_nowhere(struct node_labels_source *source)
{
    *source = (struct node_labels_source){
        NULL, xstrdup("node labels"), get_nothing, given_is_healthy, NULL, NULL};
}

/* --- any --- */

int node_labels_get(const struct node_labels_source *source, struct call *call,
                    struct strmap *labels, struct error *err)
{
    struct deadline deadline = deadline_in_ms(call ? NODE_LABELS_WAIT_MS : 0);
    struct call wait;

    call_stage(call, "waiting {age} for the labels of the node");
    call_init(&wait, call ? call->id : 0, call ? call->method : "",
              call ? deadline_earlier(call->deadline, deadline) : deadline);
    wait.cancelled = call ? call->cancelled : NULL;
    int result = source->get(source->object, &wait, labels, err);
    call_done(&wait);
    return result;
}

void node_labels_done(struct node_labels_source *source)
{
    if (source->free)
        source->free(source->object);
    free(source->subject);
    *source = (struct node_labels_source){0};
}
