#include "common/volume/replication_status.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define LOCAL_SNAPSHOT "local_snapshot_timestamp"
#define SYNC_SECONDS "last_snapshot_sync_seconds"
#define SYNC_BYTES "last_snapshot_bytes"

void replication_info_done(struct replication_info *info)
{
    free(info->message);
    *info = (struct replication_info){0};
}

bool replication_parse_site(const struct mirror_site *site, struct replication_info *info)
{
    const char *comma = strchr(site->description, ',');

    if (!comma)
        return false;
    json_auto_t *figures = json_loads(comma + 1, 0, NULL);
    const json_t *duration = json_object_get(figures, SYNC_SECONDS);
    info->synced_at = json_integer_value(json_object_get(figures, LOCAL_SNAPSHOT));
    if (info->synced_at <= 0)
        return false;
    info->has_duration = json_is_integer(duration);
    info->duration_s = json_integer_value(duration);
    info->bytes = json_integer_value(json_object_get(figures, SYNC_BYTES));
    return true;
}

static enum replication_health health_of(const struct mirror_site *site)
{
    if (site->state == MIRROR_ERROR)
        return REPLICATION_ERROR;
    if (!site->is_up || site->state == MIRROR_STOPPED || site->state == MIRROR_SYNCING)
        return REPLICATION_DEGRADED;
    return site->state == MIRROR_REPLAYING ? REPLICATION_HEALTHY : REPLICATION_UNKNOWN;
}

/* Unknown is worse than healthy, and better than what is known to be wrong. */
static int rank_of(enum replication_health health)
{
    static const int ranks[] = {[REPLICATION_HEALTHY] = 0,
                                [REPLICATION_UNKNOWN] = 1,
                                [REPLICATION_DEGRADED] = 2,
                                [REPLICATION_ERROR] = 3};

    return ranks[health];
}

enum replication_health replication_judge(const struct mirror_sites *sites, char **message)
{
    enum replication_health worst = REPLICATION_UNKNOWN;
    const struct mirror_site *speaker = NULL;

    for (size_t i = 0; i < sites->count; i++) {
        const struct mirror_site *site = &sites->items[i];

        if (site->is_local || (speaker && rank_of(health_of(site)) <= rank_of(worst)))
            continue;
        worst = health_of(site);
        speaker = site;
    }
    if (!speaker) {
        *message = xstrdup("no rbd-mirror of another cluster has reported yet");
        return worst;
    }
    const char *figures = strstr(speaker->description, ", {");
    const size_t length =
        figures ? (size_t)(figures - speaker->description) : strlen(speaker->description);
    *message = xasprintf("%s%.*s", speaker->is_up ? "" : "rbd-mirror is down there: ", (int)length,
                         speaker->description);
    return worst;
}

const struct mirror_site *replication_local_site(const struct mirror_sites *sites)
{
    for (size_t i = 0; i < sites->count; i++)
        if (sites->items[i].is_local)
            return &sites->items[i];
    return NULL;
}

bool replication_is_settled(const struct mirror_sites *sites)
{
    for (size_t i = 0; i < sites->count; i++)
        if (!sites->items[i].is_up || sites->items[i].state != MIRROR_UNKNOWN)
            return false;
    return sites->count > 1 && replication_local_site(sites);
}

char *replication_format_time(const struct timespec *time)
{
    return xasprintf("seconds:%lld nanos:%ld", (long long)time->tv_sec, time->tv_nsec);
}

/* The number behind @name; a field that is 0 is left out. */
static bool parse_field(const char *text, const char *name, int64_t *number)
{
    const char *found = strstr(text, name);

    *number = 0;
    if (!found)
        return true;
    found += strlen(name);
    _cleanup_free_ char *digits = xstrndup(found, strcspn(found, " "));
    _cleanup_error_ struct error err = {0};
    return text_parse_i64(digits, number, &err) == 0;
}

bool replication_parse_time(const char *text, struct timespec *time)
{
    int64_t seconds = 0;
    int64_t nanos = 0;

    if (!parse_field(text, "seconds:", &seconds) || !parse_field(text, "nanos:", &nanos) ||
        seconds <= 0)
        return false;
    *time = (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)nanos};
    return true;
}
