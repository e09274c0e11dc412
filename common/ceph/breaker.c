#include "common/ceph/breaker.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/memory.h"

#define SILENCE_DEFAULT_MS 10000
#define RETRY_DEFAULT_MS 10000

struct breaker_module {
    struct breaker_module *next;
    struct breaker *breaker;
    char *cluster_id;
    char *name;
    int64_t answered_ms; /* when it last answered */
    int64_t asked_ms;    /* when the first of those asked who have given up since; 0: none has */
    int64_t left_ms;     /* when the last of them gave up */
    int64_t retry_ms;    /* when the next caller is let through, while it hangs */
    time_t since;        /* when it was found hanging; 0: it does not */
};

struct breaker {
    struct breaker_options options;
    pthread_mutex_t lock;
    struct breaker_module *modules;
};

struct breaker *breaker_new(const struct breaker_options *options)
{
    struct breaker *breaker = xcalloc(1, sizeof(*breaker));

    breaker->options = *options;
    if (options->silence_ms == 0)
        breaker->options.silence_ms = SILENCE_DEFAULT_MS;
    if (options->retry_ms == 0)
        breaker->options.retry_ms = RETRY_DEFAULT_MS;
    pthread_mutex_init(&breaker->lock, NULL);
    return breaker;
}

void breaker_free(struct breaker *breaker)
{
    while (breaker->modules) {
        struct breaker_module *module = breaker->modules;

        breaker->modules = module->next;
        free_all(module->cluster_id, module->name, module);
    }
    pthread_mutex_destroy(&breaker->lock);
    free(breaker);
}

/* Which module runs a command: those that the driver uses by their names, others by the command's
 * first word. */
static char *module_of(const char *command)
{
    json_auto_t *parsed = json_loads(command, 0, NULL);
    const char *prefix = json_string_value(json_object_get(parsed, "prefix"));
    size_t length = prefix ? strcspn(prefix, " ") : 0;

    if (length == 2 && strncmp(prefix, "fs", length) == 0)
        return xstrdup("volumes");
    if (length == 3 && strncmp(prefix, "rbd", length) == 0)
        return xstrdup("rbd_support");
    return xstrndup(prefix ? prefix : "", length);
}

struct breaker_module *breaker_find(struct breaker *breaker, const char *cluster_id,
                                    const char *command)
{
    _cleanup_free_ char *name = module_of(command);
    struct breaker_module *module;

    pthread_mutex_lock(&breaker->lock);
    for (module = breaker->modules; module; module = module->next)
        if (strcmp(module->cluster_id, cluster_id) == 0 && strcmp(module->name, name) == 0)
            break;
    if (!module) {
        module = xcalloc(1, sizeof(*module));
        *module = (struct breaker_module){.next = breaker->modules,
                                          .breaker = breaker,
                                          .cluster_id = xstrdup(cluster_id),
                                          .name = TAKE(name)};
        breaker->modules = module;
    }
    pthread_mutex_unlock(&breaker->lock);
    return module;
}

static int64_t silence_of(const struct breaker_module *module, int64_t now_ms)
{
    return now_ms -
           (module->answered_ms > module->asked_ms ? module->answered_ms : module->asked_ms);
}

int breaker_enter(struct breaker_module *module, struct error *err)
{
    struct breaker *breaker = module->breaker;
    const int64_t now_ms = clock_monotonic_ms();
    int result = 0;

    pthread_mutex_lock(&breaker->lock);
    if (module->since && now_ms < module->retry_ms)
        result = error_set(err, STATUS_UNAVAILABLE,
                           "module '%s' of the managers of cluster '%s' has not answered for %lld "
                           "s and is asked again in %lld s; if it hangs, 'ceph mgr fail' helps",
                           module->name, module->cluster_id,
                           (long long)silence_of(module, now_ms) / 1000,
                           (long long)(module->retry_ms - now_ms + 999) / 1000);
    else if (module->since)
        module->retry_ms = now_ms + breaker->options.retry_ms;
    pthread_mutex_unlock(&breaker->lock);
    return result;
}

void breaker_answered(struct breaker_module *module)
{
    struct breaker *breaker = module->breaker;

    pthread_mutex_lock(&breaker->lock);
    bool has_recovered = module->since != 0;
    module->since = 0;
    module->asked_ms = 0;
    module->answered_ms = clock_monotonic_ms();
    pthread_mutex_unlock(&breaker->lock);
    if (has_recovered)
        log_info(NULL, "module '%s' of the managers of cluster '%s' answers again", module->name,
                 module->cluster_id);
}

void breaker_left(struct breaker_module *module, int64_t asked_ms)
{
    struct breaker *breaker = module->breaker;
    const int64_t now_ms = clock_monotonic_ms();

    pthread_mutex_lock(&breaker->lock);
    /* commands that were given up long ago say nothing about now */
    bool is_old = !module->since && asked_ms - module->left_ms > breaker->options.silence_ms;
    if (!module->asked_ms || is_old || asked_ms < module->asked_ms)
        module->asked_ms = asked_ms;
    module->left_ms = now_ms;
    const int64_t silence_ms = silence_of(module, now_ms);
    bool is_new = !module->since && silence_ms >= breaker->options.silence_ms;
    if (is_new)
        module->since = time(NULL);
    if (module->since) /* also after a try in vain, which may have taken longer than this */
        module->retry_ms = now_ms + breaker->options.retry_ms;
    pthread_mutex_unlock(&breaker->lock);
    if (is_new)
        log_warn(NULL, "module '%s' of the managers of cluster '%s' has not answered for %lld s",
                 module->name, module->cluster_id, (long long)silence_ms / 1000);
}

void breaker_report(struct breaker *breaker, ceph_report_fn *each, void *object)
{
    pthread_mutex_lock(&breaker->lock);
    for (const struct breaker_module *module = breaker->modules; module; module = module->next) {
        _cleanup_free_ char *message =
            xasprintf("module '%s' of its managers does not answer; if it hangs, 'ceph mgr fail' "
                      "helps",
                      module->name);

        if (module->since)
            each(object, module->cluster_id, false, message, module->since);
    }
    pthread_mutex_unlock(&breaker->lock);
}

unsigned breaker_count(struct breaker *breaker)
{
    unsigned count = 0;

    pthread_mutex_lock(&breaker->lock);
    for (const struct breaker_module *module = breaker->modules; module; module = module->next)
        count += module->since != 0;
    pthread_mutex_unlock(&breaker->lock);
    return count;
}
