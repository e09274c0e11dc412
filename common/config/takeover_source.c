#include "common/config/takeover_source.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/config/takeover_configmap.h"
#include "common/config/watched_file.h"
#include "common/encoding/json.h"

static const struct takeover_map NOTHING = {0};

struct takeover_source {
    struct watched_file *file;            /* NULL: none was named */
    struct takeover_configmap *configmap; /* NULL: none */
    struct config_file *config;
    pthread_mutex_t lock;         /* over the three below */
    struct config *last_good;     /* the config.json whose map is in force; NULL: none yet */
    struct condition in_config;   /* the map in config.json, not config.json itself */
    struct string_list returning; /* domains whose giveback is in progress */
    char *config_subject;         /* that map in the log */
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

/* True if the file decides, and then with its map. */
static bool get_from_file(struct takeover_source *source, struct takeover_snapshot *snapshot)
{
    _cleanup_error_ struct error err = {0};
    struct watched_version *version = NULL;

    if (!source->file)
        return false;
    if (watched_file_get(source->file, &version, &err) < 0)
        return true; /* found, but never good */
    if (!version)
        return false;
    *snapshot = takeover_snapshot_of(version);
    return true;
}

/* --- config.json --- */

/* Lock held. Without a good config.json the last map stays; the file's own report says why. */
static void refresh_from_config(struct takeover_source *source)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_config_ struct config *config = NULL;
    _cleanup_free_ char *whole = NULL;
    const char *fault = NULL;

    if (config_file_get(source->config, &config, &err) < 0)
        return;
    if (config_takeover(config, &fault)) {
        config_unref(source->last_good);
        source->last_good = TAKE(config);
    } else {
        whole =
            xasprintf("%s: " CONFIG_TAKEOVER_KEY ": %s", config_file_path(source->config), fault);
    }
    watched_note(&source->in_config, whole, MAP_FILE.what, source->config_subject,
                 source->last_good);
}

static void get_from_config(struct takeover_source *source, struct takeover_snapshot *snapshot)
{
    const char *fault = NULL;

    pthread_mutex_lock(&source->lock);
    refresh_from_config(source);
    if (source->last_good)
        *snapshot = (struct takeover_snapshot){.map = config_takeover(source->last_good, &fault),
                                               .holder = config_hold(source->last_good)};
    pthread_mutex_unlock(&source->lock);
}

/* --- both --- */

struct takeover_source *takeover_source_new(const char *path, struct config_file *config)
{
    struct takeover_source *source = xcalloc(1, sizeof(*source));

    source->file = path[0] ? watched_file_new(path, &MAP_FILE) : NULL;
    source->config = config;
    source->config_subject = xasprintf("the takeover map of %s", config_file_path(config));
    pthread_mutex_init(&source->lock, NULL);
    return source;
}

void takeover_source_add_configmap(struct takeover_source *source,
                                   struct takeover_configmap *configmap)
{
    source->configmap = configmap;
}

void takeover_source_free(struct takeover_source *source)
{
    if (!source)
        return;
    watched_file_free(source->file);
    takeover_configmap_free(source->configmap);
    config_unref(source->last_good);
    condition_done(&source->in_config);
    free(source->config_subject);
    string_list_done(&source->returning);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

void takeover_source_get(struct takeover_source *source, struct takeover_snapshot *snapshot)
{
    *snapshot = (struct takeover_snapshot){.map = &NOTHING};
    if (get_from_file(source, snapshot) ||
        (source->configmap && takeover_configmap_get(source->configmap, snapshot)))
        return;
    get_from_config(source, snapshot);
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
    watched_version_unref(snapshot->holder);
    *snapshot = (struct takeover_snapshot){0};
}

/* Whether the ConfigMap decides, or cannot be seen. */
static bool is_from_configmap(struct takeover_source *source)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    return source->configmap &&
           (takeover_configmap_get(source->configmap, &snapshot) ||
            !takeover_configmap_is_healthy(source->configmap, &message, &since));
}

bool takeover_source_is_healthy(struct takeover_source *source, char **message, time_t *since)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};
    bool healthy = true;

    if (get_from_file(source, &snapshot)) {
        healthy = watched_file_is_healthy(source->file, message, since);
    } else if (is_from_configmap(source)) {
        healthy = takeover_configmap_is_healthy(source->configmap, message, since);
    } else {
        pthread_mutex_lock(&source->lock);
        refresh_from_config(source);
        healthy = condition_is_healthy(&source->in_config, message, since);
        pthread_mutex_unlock(&source->lock);
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
