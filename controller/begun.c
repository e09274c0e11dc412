#include "controller/begun.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "controller/backend.h"

#define OTHERS_MAX_S 60 /* a process of unknown id that takes longer is considered dead */
#define MAKERS_LIMIT 256
#define UNKNOWN_MAKER 0

void begun_start(const struct begun *begun, struct ceph_work **work)
{
    struct ceph_pool *directory = begun->directory;
    _cleanup_free_ char *object = journal_directory(begun->journal);
    _cleanup_error_ struct error err = {0};

    if (*work || directory->ops->work_begin(directory, begun->call, object,
                                            begun->entry->uuid.chars, work, &err) == 0)
        return;
    log_warn(begun->call, "other processes cannot ask this one for its work: %s", err.message);
}

void begun_write(const struct begun *begun, const struct ceph_work *work)
{
    struct strmap *extra = &begun->entry->extra;
    _cleanup_free_ char *now = xasprintf("%lld", (long long)time(NULL));

    strmap_set(extra, JOURNAL_KEY_BEGUN, now);
    strmap_set(extra, JOURNAL_KEY_PROCESS, begun->controller->process_id.chars);
    if (work) {
        _cleanup_free_ char *maker = xasprintf("%llu", (unsigned long long)work->worker);

        strmap_set(extra, JOURNAL_KEY_MAKERS, maker);
    }
}

bool begun_is_written(const struct strmap *extra)
{
    return strmap_has(extra, JOURNAL_KEY_BEGUN);
}

/* --- the makers --- */

/* The next id of the list at *@rest, which moves on; false at its end. */
static bool next_maker(const char **rest, uint64_t *maker)
{
    char *end = NULL;

    *maker = strtoull(*rest, &end, 10);
    bool found = end != *rest;
    *rest = end;
    return found;
}

static bool has_maker(const char *makers, uint64_t wanted)
{
    uint64_t maker = 0;

    while (next_maker(&makers, &maker))
        if (maker == wanted)
            return true;
    return false;
}

/* Writes @makers, unless somebody was faster. */
static int change_makers(const struct begun *begun, const char *makers, struct error *err)
{
    struct ceph_pool *pool = begun->pool;
    struct strmap *extra = &begun->entry->extra;
    const char *known = strmap_get(extra, JOURNAL_KEY_MAKERS);
    _cleanup_free_ char *object = journal_object(begun->journal, &begun->entry->uuid);
    _cleanup_strmap_ struct strmap changed = {0};
    bool written = true;
    int result = 0;

    strmap_set(&changed, JOURNAL_KEY_MAKERS, makers);
    if (known)
        result = pool->ops->omap_remove_if(pool, begun->call, object, JOURNAL_KEY_MAKERS, known,
                                           &changed, &written, err);
    else
        result = pool->ops->omap_add(pool, begun->call, object, JOURNAL_KEY_MAKERS, makers, err);
    if (result < 0 && err->status == STATUS_ALREADY_EXISTS) {
        error_clear(err);
        written = false;
    } else if (result < 0) {
        return error_wrap(err, "take over '%s'", begun->entry->request_name);
    }
    if (!written)
        return error_set(err, STATUS_ABORTED,
                         "another process of the driver has just taken over '%s'; retry",
                         begun->entry->request_name);
    strmap_set(extra, JOURNAL_KEY_MAKERS, makers);
    return 0;
}

int begun_join(const struct begun *begun, const struct ceph_work *work, struct error *err)
{
    const char *makers = strmap_get(&begun->entry->extra, JOURNAL_KEY_MAKERS);
    _cleanup_text_ struct text joined = TEXT_INIT(MAKERS_LIMIT);

    if (!work || !begun_is_written(&begun->entry->extra) ||
        (makers && has_maker(makers, work->worker)))
        return 0;
    text_addf(&joined, "%llu %s", (unsigned long long)work->worker, makers ? makers : "0");
    if (joined.truncated) /* so many have died at it that one must find out about them */
        return begun_take_over(begun, work, err);
    return change_makers(begun, text_chars(&joined), err);
}

/* --- whether they live --- */

/* One of which no more is known than when it began. */
static int check_unknown_maker(const struct begun *begun, struct error *err)
{
    const struct strmap *extra = &begun->entry->extra;
    const char *process = strmap_get_or(extra, JOURNAL_KEY_PROCESS, "");
    long long started = strtoll(strmap_get_or(extra, JOURNAL_KEY_BEGUN, "0"), NULL, 10);
    long long age = (long long)time(NULL) - started;

    if (started == 0 || age >= OTHERS_MAX_S ||
        strcmp(process, begun->controller->process_id.chars) == 0)
        return 0;
    return error_set(err, STATUS_ABORTED,
                     "another process of the driver began to make '%s' in pool '%s' %lld s ago; if "
                     "it has died, a retry in %lld s takes over",
                     begun->entry->image_name, begun->pool->name, age, OTHERS_MAX_S - age);
}

static int check_maker(const struct begun *begun, const struct worker_answers *answers,
                       uint64_t maker, struct error *err)
{
    const struct worker_answer *answer = worker_answers_find(answers, maker);

    if (answer && answer->state == WORKER_BUSY)
        return error_set(err, STATUS_ABORTED,
                         "another process of the driver (client.%llu) is at the same: %s",
                         (unsigned long long)maker, answer->stage);
    if (answer && answer->state == WORKER_SILENT)
        return error_set(err, STATUS_ABORTED,
                         "another process of the driver (client.%llu) may be making '%s' in pool "
                         "'%s' and does not answer; if it has died, a retry in %d s takes over",
                         (unsigned long long)maker, begun->entry->image_name, begun->pool->name,
                         WORKER_LOST_S);
    return 0;
}

static int ask_makers(const struct begun *begun, const char *makers, const struct ceph_work *work,
                      struct error *err)
{
    struct ceph_pool *directory = begun->directory;
    _cleanup_free_ char *object = journal_directory(begun->journal);
    _cleanup_worker_answers_ struct worker_answers answers = {0};
    uint64_t maker = 0;

    if (directory->ops->work_ask(directory, begun->call, object, begun->entry->uuid.chars, &answers,
                                 err) < 0)
        return -1;
    while (next_maker(&makers, &maker))
        if (!(work && maker == work->worker) && check_maker(begun, &answers, maker, err) < 0)
            return -1;
    return 0;
}

/* A name whose entry is not written yet: another process may be about to. */
static int check_unclaimed(const struct begun *begun, const struct ceph_work *work,
                           struct error *err)
{
    struct ceph_pool *directory = begun->directory;
    _cleanup_free_ char *object = journal_directory(begun->journal);
    _cleanup_worker_answers_ struct worker_answers answers = {0};

    if (directory->ops->work_ask(directory, begun->call, object, begun->entry->uuid.chars, &answers,
                                 err) < 0)
        return -1;
    for (size_t i = 0; i < answers.count; i++)
        if (!(work && answers.items[i].worker == work->worker) &&
            answers.items[i].state != WORKER_IDLE)
            return error_set(err, STATUS_ABORTED,
                             "another process of the driver (client.%llu) may be at the same",
                             (unsigned long long)answers.items[i].worker);
    return 0;
}

int begun_take_over(const struct begun *begun, const struct ceph_work *work, struct error *err)
{
    const char *makers = strmap_get(&begun->entry->extra, JOURNAL_KEY_MAKERS);
    _cleanup_free_ char *own = xasprintf("%llu", work ? (unsigned long long)work->worker : 0ULL);

    if (!begun_is_written(&begun->entry->extra) || (work && makers && strcmp(makers, own) == 0))
        return 0;
    if ((!makers || has_maker(makers, UNKNOWN_MAKER)) && check_unknown_maker(begun, err) < 0)
        return -1;
    if (makers && ask_makers(begun, makers, work, err) < 0)
        return -1;
    return work ? change_makers(begun, own, err) : 0;
}

int begun_is_busy(const struct begun *begun, bool *busy, struct error *err)
{
    const char *makers = strmap_get(&begun->entry->extra, JOURNAL_KEY_MAKERS);
    int result = 0;

    if (!begun->entry->request_name)
        result = check_unclaimed(begun, NULL, err);
    else if (makers)
        result = ask_makers(begun, makers, NULL, err);
    if (result < 0 && err->status != STATUS_ABORTED)
        return -1;
    *busy = result < 0;
    error_clear(err);
    return 0;
}

bool begun_is_abandoned(const struct begun *begun, const struct ceph_work *work, enum status status)
{
    const struct controller_backend *backend = controller_backend(begun->controller);
    const struct journal_entry *entry = begun->entry;
    _cleanup_error_ struct error err = {0};
    int result = 0;

    if (status == STATUS_ALREADY_EXISTS || status == STATUS_DATA_LOSS)
        return false;
    if (!entry->request_name)
        result = check_unclaimed(begun, work, &err);
    else if (backend->entry_is_complete(entry) || !begun_is_written(&entry->extra))
        return false;
    else
        result = begun_take_over(begun, work, &err);
    if (result < 0)
        log_info(begun->call, "what an earlier call began stays: %s", err.message);
    return result == 0;
}
