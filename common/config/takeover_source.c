#include "common/config/takeover_source.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/config/takeover_kinds.h"
#include "common/config/watched_file.h"
#include "common/encoding/json.h"

static const struct takeover_map NOTHING = {0};

#define KIND_ADDRESS(name) &(name),
static const struct takeover_kind *const KINDS[] = {TAKEOVER_KINDS(KIND_ADDRESS)};

struct takeover_source {
    void *places[ARRAY_LENGTH(KINDS)]; /* NULL: none of that kind */
    pthread_mutex_t lock;              /* over the next one */
    struct string_list returning;      /* domains whose giveback is in progress */
    atomic_uint_fast64_t is_broken;
};

/* --- versions --- */

struct takeover_version {
    struct watched_version base;
    struct takeover_map map;
};

static void free_version(struct watched_version *version)
{
    struct takeover_version *own = (struct takeover_version *)version;

    takeover_map_done(&own->map);
    free(own);
}

struct watched_version *takeover_version_new(struct takeover_map *map)
{
    struct takeover_version *own = xcalloc(1, sizeof(*own));

    watched_version_init(&own->base, free_version);
    own->map = *map;
    *map = (struct takeover_map){0};
    return &own->base;
}

struct takeover_snapshot takeover_snapshot_of(struct watched_version *version)
{
    return (struct takeover_snapshot){.map = &((struct takeover_version *)version)->map,
                                      .holder = version};
}

/* --- the file of its own --- */

static int load_map(const char *path, struct watched_version **out, struct error *err)
{
    struct takeover_map map = {0};
    json_auto_t *root = NULL;

    if (json_load_path(path, CONFIGMAP_BYTES_MAX, &root, err) < 0)
        return -1;
    if (takeover_map_decode(root, &map, err) < 0)
        return error_wrap(err, "%s", path);
    log_info(NULL, "read %zu takeover(s) from %s", map.count, path);
    *out = takeover_version_new(&map);
    return 0;
}

static const struct watched_kind MAP_FILE = {
    .what = "takeover map", .is_optional = true, .load = load_map};

static int open_file(const struct takeover_setup *setup, void **place, struct error *err)
{
    (void)err;
    if (setup->path[0])
        *place = watched_file_new(setup->path, &MAP_FILE);
    return 0;
}

static void close_file(void *place)
{
    watched_file_free(place);
}

static enum takeover_finding get_from_file(void *place, struct takeover_snapshot *snapshot)
{
    _cleanup_error_ struct error err = {0};
    struct watched_version *version = NULL;

    if (watched_file_get(place, &version, &err) < 0) {
        snapshot->unknown = xstrdup(err.message);
        return TAKEOVER_BROKEN;
    }
    if (!version)
        return TAKEOVER_ABSENT;
    *snapshot = takeover_snapshot_of(version);
    return TAKEOVER_FOUND;
}

static bool file_is_healthy(void *place, char **message, time_t *since)
{
    return watched_file_is_healthy(place, message, since);
}

const struct takeover_kind TAKEOVER_IN_FILE = {
    "a file", open_file, close_file, get_from_file, file_is_healthy,
};

/* --- config.json --- */

struct map_in_config {
    struct config_file *config;
    char *subject;            /* in the log */
    pthread_mutex_t lock;     /* over the two below */
    struct config *last_good; /* the config.json whose map is in force; NULL: none yet */
    struct condition state;   /* of the map, not of config.json itself */
};

static int open_config(const struct takeover_setup *setup, void **place, struct error *err)
{
    struct map_in_config *own = xcalloc(1, sizeof(*own));

    (void)err;
    own->config = setup->config;
    own->subject = xasprintf("the takeover map of %s", config_file_path(setup->config));
    pthread_mutex_init(&own->lock, NULL);
    *place = own;
    return 0;
}

static void close_config(void *place)
{
    struct map_in_config *own = place;

    config_unref(own->last_good);
    condition_done(&own->state);
    pthread_mutex_destroy(&own->lock);
    free(own->subject);
    free(own);
}

/* Lock held. Without a good config.json the last map stays; the file's own report says why. What is
 * wrong is also in @err. */
static int refresh_from_config(struct map_in_config *own, struct error *err)
{
    _cleanup_config_ struct config *config = NULL;
    _cleanup_free_ char *whole = NULL;
    const char *fault = NULL;

    if (config_file_get(own->config, &config, err) < 0)
        return -1;
    if (config_takeover(config, &fault)) {
        config_unref(own->last_good);
        own->last_good = TAKE(config);
    } else {
        whole = xasprintf("%s: " CONFIG_TAKEOVER_KEY ": %s", config_file_path(own->config), fault);
    }
    watched_note(&own->state, whole, MAP_FILE.what, own->subject, own->last_good);
    return whole ? error_set(err, STATUS_INVALID_ARGUMENT, "%s", whole) : 0;
}

static enum takeover_finding get_from_config(void *place, struct takeover_snapshot *snapshot)
{
    struct map_in_config *own = place;
    _cleanup_error_ struct error err = {0};
    const char *fault = NULL;

    pthread_mutex_lock(&own->lock);
    int result = refresh_from_config(own, &err);
    if (own->last_good)
        *snapshot = (struct takeover_snapshot){.map = config_takeover(own->last_good, &fault),
                                               .holder = config_hold(own->last_good)};
    else if (result < 0)
        snapshot->unknown = xstrdup(err.message);
    pthread_mutex_unlock(&own->lock);
    return snapshot->unknown ? TAKEOVER_BROKEN : snapshot->map ? TAKEOVER_FOUND : TAKEOVER_ABSENT;
}

static bool config_is_healthy(void *place, char **message, time_t *since)
{
    struct map_in_config *own = place;
    _cleanup_error_ struct error err = {0};

    pthread_mutex_lock(&own->lock);
    (void)!refresh_from_config(own, &err);
    bool healthy = condition_is_healthy(&own->state, message, since);
    pthread_mutex_unlock(&own->lock);
    return healthy;
}

const struct takeover_kind TAKEOVER_IN_CONFIG = {
    "config.json", open_config, close_config, get_from_config, config_is_healthy,
};

/* --- all of them --- */

struct takeover_source *takeover_source_new(const struct takeover_setup *setup)
{
    struct takeover_source *source = xcalloc(1, sizeof(*source));

    for (size_t i = 0; i < ARRAY_LENGTH(KINDS); i++) {
        _cleanup_error_ struct error err = {0};

        if (KINDS[i]->open(setup, &source->places[i], &err) < 0)
            log_warn(NULL, "no takeover map from %s: %s", KINDS[i]->what, err.message);
    }
    pthread_mutex_init(&source->lock, NULL);
    return source;
}

void takeover_source_free(struct takeover_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < ARRAY_LENGTH(KINDS); i++)
        if (source->places[i])
            KINDS[i]->close(source->places[i]);
    string_list_done(&source->returning);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

/* A better place that cannot be seen. */
struct unseen_place {
    char *why;       /* NULL: there is none */
    bool may_appear; /* what it has may be newer than all that is seen */
};

/* True if no other place is to be asked. A map without takeovers does not count where a better
 * place cannot be seen and this one is the last: it is empty unless somebody writes it. */
static bool is_decided(struct takeover_source *source, size_t kind, struct unseen_place *unseen,
                       struct takeover_snapshot *snapshot)
{
    struct takeover_snapshot found = {0};
    const bool is_last = kind + 1 == ARRAY_LENGTH(KINDS);

    const enum takeover_finding finding = KINDS[kind]->get(source->places[kind], &found);
    switch (finding) {
    case TAKEOVER_ABSENT:
        return false;
    case TAKEOVER_UNSEEN:
    case TAKEOVER_FORBIDDEN:
        if (!unseen->why) {
            unseen->why = TAKE(found.unknown);
            unseen->may_appear = finding == TAKEOVER_UNSEEN;
        }
        takeover_snapshot_done(&found);
        return false;
    case TAKEOVER_FOUND:
        if (is_last && unseen->why && found.map->count == 0) {
            takeover_snapshot_done(&found);
            return false;
        }
        break;
    case TAKEOVER_BROKEN:
        break;
    }
    *snapshot = found;
    return true;
}

void takeover_source_get(struct takeover_source *source, struct takeover_snapshot *snapshot)
{
    struct unseen_place unseen = {0};
    bool decided = false;

    *snapshot = (struct takeover_snapshot){0};
    for (size_t i = 0; i < ARRAY_LENGTH(KINDS) && !decided; i++)
        decided = source->places[i] && is_decided(source, i, &unseen, snapshot);
    if (!decided)
        snapshot->unknown = TAKE(unseen.why);
    else if (unseen.may_appear)
        snapshot->doubt = TAKE(unseen.why);
    free(unseen.why);
    if (!snapshot->map)
        snapshot->map = &NOTHING;
}

void takeover_source_set_returning(struct takeover_source *source,
                                   const struct string_list *domains)
{
    pthread_mutex_lock(&source->lock);
    string_list_done(&source->returning);
    for (size_t i = 0; i < domains->count; i++)
        if (strchr(domains->items[i], '='))
            string_list_add(&source->returning, domains->items[i]);
    pthread_mutex_unlock(&source->lock);
}

/* Appends an entry of which only the domain counts. */
static void add_closed(struct takeover_map *map, const char *level, size_t level_length,
                       const char *value)
{
    *array_add(map->entries, map->count) = (struct takeover_entry){
        .level = level ? xstrndup(level, level_length) : NULL, .value = xstrdup(value)};
}

void takeover_source_get_closed(struct takeover_source *source, struct takeover_snapshot *snapshot)
{
    takeover_source_get(source, snapshot);
    pthread_mutex_lock(&source->lock);
    if (source->returning.count > 0) {
        struct takeover_map *own = xcalloc(1, sizeof(*own));

        for (size_t i = 0; i < snapshot->map->count; i++) {
            const struct takeover_entry *entry = &snapshot->map->entries[i];

            add_closed(own, entry->level, entry->level ? strlen(entry->level) : 0, entry->value);
        }
        for (size_t i = 0; i < source->returning.count; i++) {
            const char *domain = source->returning.items[i];
            const char *equals = strchr(domain, '=');

            add_closed(own, domain, (size_t)(equals - domain), equals + 1);
        }
        snapshot->map = snapshot->own = own;
    }
    pthread_mutex_unlock(&source->lock);
}

void takeover_snapshot_done(struct takeover_snapshot *snapshot)
{
    if (snapshot->own)
        takeover_map_done(snapshot->own);
    free(snapshot->own);
    free_all(snapshot->unknown, snapshot->doubt);
    watched_version_unref(snapshot->holder);
    *snapshot = (struct takeover_snapshot){0};
}

bool takeover_source_is_healthy(struct takeover_source *source, char **message, time_t *since)
{
    bool healthy = true;
    bool decides = false;

    /* what cannot be seen might decide, hence its fault counts */
    *message = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(KINDS) && healthy && !decides; i++) {
        _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};

        if (!source->places[i])
            continue;
        free(*message);
        const enum takeover_finding finding = KINDS[i]->get(source->places[i], &snapshot);
        decides = finding == TAKEOVER_FOUND || finding == TAKEOVER_BROKEN;
        healthy = KINDS[i]->is_healthy(source->places[i], message, since);
    }
    atomic_store(&source->is_broken, !healthy);
    return healthy;
}

void takeover_source_register(struct takeover_source *source, struct metrics *metrics)
{
    const struct metric_spec spec = {METRIC_GAUGE, "csi_takeover_map_broken",
                                     "1 while the takeover map as written cannot be used.",
                                     .number = &source->is_broken};

    metrics_register(metrics, &spec);
}
