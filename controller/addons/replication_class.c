#include "controller/addons/replication_class.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define MODE "mirroringMode"
#define INTERVAL "schedulingInterval"
#define START_TIME "schedulingStartTime"
#define FLATTEN "flattenMode"
#define FORCE "force"

/* *@second is whether it is the second word; the first if the parameter is not there. */
static int parse_choice(const struct strmap *parameters, const char *name, const char *first,
                        const char *second, bool *is_second, struct error *err)
{
    const char *value = strmap_get(parameters, name);

    *is_second = value && strcmp(value, second) == 0;
    if (!value || value[0] == '\0' || *is_second || strcmp(value, first) == 0)
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT, "%s: '%.40s' is neither %s nor %s", name, value,
                     first, second);
}

static const char *get_text(const struct strmap *parameters, const char *name)
{
    const char *value = strmap_get(parameters, name);

    return value && value[0] != '\0' ? value : NULL;
}

static int check_interval(const char *interval, struct error *err)
{
    _cleanup_error_ struct error ignored = {0};
    const size_t length = strlen(interval);
    _cleanup_free_ char *digits = xstrndup(interval, length - 1);
    uint64_t number = 0;

    if (strchr("mhd", interval[length - 1]) && text_parse_u64(digits, &number, &ignored) == 0 &&
        number > 0)
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     INTERVAL ": '%.40s' is no number of minutes, hours or days: 15m, 1h, 1d",
                     interval);
}

/* The manager looks at it closely; here only that it cannot be anything else. */
static int check_start_time(const char *time, struct error *err)
{
    if (strspn(time, "0123456789-+:.TZ") == strlen(time))
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     START_TIME ": '%.40s' is no time by ISO 8601: 14:00:00-05:00", time);
}

static int check_schedule(const struct replication_class *class, struct error *err)
{
    if (!class->interval && !class->start_time)
        return 0;
    if (class->mode == MIRRORING_JOURNAL)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         INTERVAL " and " START_TIME " are for mirroring by snapshots; a journal "
                                  "has no schedule");
    if (!class->interval)
        return error_set(err, STATUS_INVALID_ARGUMENT, START_TIME " needs " INTERVAL);
    if (check_interval(class->interval, err) < 0)
        return -1;
    return class->start_time ? check_start_time(class->start_time, err) : 0;
}

int replication_class_parse(const struct strmap *parameters, struct replication_class *class,
                            struct error *err)
{
    bool has_journal = false;

    *class = (struct replication_class){.interval = get_text(parameters, INTERVAL),
                                        .start_time = get_text(parameters, START_TIME)};
    if (parse_choice(parameters, MODE, "snapshot", "journal", &has_journal, err) < 0 ||
        parse_choice(parameters, FLATTEN, "never", "force", &class->flattens, err) < 0 ||
        parse_choice(parameters, FORCE, "false", "true", &class->forces, err) < 0)
        return -1;
    class->mode = has_journal ? MIRRORING_JOURNAL : MIRRORING_SNAPSHOT;
    return check_schedule(class, err);
}
