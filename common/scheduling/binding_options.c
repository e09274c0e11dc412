#include "common/scheduling/binding_options.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

static struct binding_options options_of(unsigned minor)
{
    return (struct binding_options){
        .minor = minor,
        .storage_capacity = minor >= 21,
        .attributes_class = minor >= 34,
        .capacity_scoring = minor >= 37,
        .limit_scaling = minor >= 37,
        .rules = minor >= 35 ? ASSUME_SAME_VERSION : ASSUME_NEWEST_VERSION,
        .shape = {{0, 10}, {100, 0}},
        .shape_count = 2,
    };
}

/* "1.37" and whatever follows behind a dot, a plus or a dash. */
static int parse_minor(const char *version, uint64_t *minor, struct error *err)
{
    const char *text = version[0] == 'v' ? version + 1 : version;
    _cleanup_error_ struct error malformed = {0};

    if (text_has_prefix(text, "1.")) {
        size_t length = strspn(text + 2, "0123456789");
        _cleanup_free_ char *digits = xstrndup(text + 2, length);
        char behind = text[2 + length];

        if ((behind == '\0' || strchr(".+-", behind)) && length <= 4 &&
            text_parse_u64(digits, minor, &malformed) == 0)
            return 0;
    }
    return error_set(err, STATUS_INVALID_ARGUMENT, "'%.40s' is no Kubernetes version like '1.%d'",
                     version, BINDING_NEWEST_MINOR);
}

int binding_options_parse(const char *version, struct binding_options *options, struct error *err)
{
    uint64_t minor = BINDING_NEWEST_MINOR;
    bool is_original = strcmp(version, "original") == 0;

    if (version[0] != '\0' && !is_original && parse_minor(version, &minor, err) < 0)
        return -1;
    if (minor < BINDING_OLDEST_MINOR)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "Kubernetes %.40s: versions before 1.%d are not known", version,
                         BINDING_OLDEST_MINOR);
    *options = options_of((unsigned)minor);
    options->original_design = is_original;
    return 0;
}

/* One "50:3" up to the comma or the end. */
static int parse_point(const char *text, size_t length, struct score_point *point,
                       struct error *err)
{
    _cleanup_free_ char *copy = xstrndup(text, length);
    char *colon = strchr(copy, ':');

    if (!colon)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.40s' is not UTILIZATION:SCORE", copy);
    *colon = '\0';
    if (text_parse_i64(copy, &point->utilization, err) < 0 ||
        text_parse_i64(colon + 1, &point->score, err) < 0)
        return -1;
    if (point->utilization < 0 || point->utilization > 100)
        return error_set(err, STATUS_INVALID_ARGUMENT, "utilization must be within 0 and 100");
    if (point->score < 0 || point->score > 10)
        return error_set(err, STATUS_INVALID_ARGUMENT, "score must be within 0 and 10");
    return 0;
}

static int parse_shape(struct binding_options *options, const char *text, struct error *err)
{
    options->shape_count = 0;
    do {
        size_t length = strcspn(text, ",");
        struct score_point *point = &options->shape[options->shape_count];

        if (options->shape_count == SCORE_POINTS_MAX)
            return error_set(err, STATUS_INVALID_ARGUMENT, "more than %d points", SCORE_POINTS_MAX);
        if (parse_point(text, length, point, err) < 0)
            return -1;
        if (options->shape_count > 0 && point->utilization <= point[-1].utilization)
            return error_set(err, STATUS_INVALID_ARGUMENT, "utilization must increase");
        options->shape_count++;
        text += length;
    } while (*text++ == ',');
    return 0;
}

int binding_options_set_shape(struct binding_options *options, const char *text, struct error *err)
{
    struct binding_options changed = *options;

    if (!options->capacity_scoring)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "a shape needs StorageCapacityScoring, which Kubernetes 1.%u has off",
                         options->minor);
    if (parse_shape(&changed, text, err) < 0)
        return error_wrap(err, "shape '%.80s'", text);
    *options = changed;
    return 0;
}
