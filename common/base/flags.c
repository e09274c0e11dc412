#include "common/base/flags.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"

static bool is_ignored(const struct flag *flag)
{
    return flag->kind == FLAG_IGNORED_BOOL || flag->kind == FLAG_IGNORED_VALUE;
}

bool flag_is_short(const struct flag *flag)
{
    return !flag->help;
}

static bool is_switch(const struct flag *flag)
{
    return flag->kind == FLAG_BOOL || flag->kind == FLAG_IGNORED_BOOL;
}

/* "-ojson": the short form with its value, which *@value becomes. NULL if @argument is none. */
static const struct flag *find_joined(const struct flag *table, size_t count, const char *argument,
                                      const char **value)
{
    for (size_t i = 0; i < count && argument[1] != '-'; i++)
        if (flag_is_short(&table[i]) && !is_switch(&table[i]) && table[i].name[0] == argument[1]) {
            *value = argument + 2;
            return &table[i];
        }
    return NULL;
}

static const struct flag *find_flag(const struct flag *table, size_t count, const char *name,
                                    struct error *err)
{
    struct nearest nearest = NEAREST_INIT(name);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
        if (!flag_is_short(&table[i]))
            nearest_offer(&nearest, table[i].name);
    }
    error_set(err, STATUS_INVALID_ARGUMENT, "flag provided but not defined: -%s", name);
    if (nearest.name)
        error_hint(err, "did you mean '--%s'?", nearest.name);
    return NULL;
}

static int store_value(const struct flag *flag, const char *value, struct error *err)
{
    switch (flag->kind) {
    case FLAG_STRING:
        *(const char **)flag->target = value;
        return 0;
    case FLAG_BOOL:
        return text_parse_bool(value, flag->target, err);
    case FLAG_INT:
        return text_parse_i64(value, flag->target, err);
    case FLAG_UINT:
        return text_parse_u64(value, flag->target, err);
    case FLAG_DURATION:
        return text_parse_duration_ms(value, flag->target, err);
    case FLAG_STRING_LIST:
        string_list_add(flag->target, value);
        return 0;
    case FLAG_IGNORED_BOOL:
    case FLAG_IGNORED_VALUE:
        if (flag->target)
            *(const char **)flag->target = value;
        return 0;
    }
    return error_set(err, STATUS_INTERNAL, "flag -%s is of no known kind", flag->name);
}

int flags_parse(const struct flag *table, size_t count, int argc, char **argv, int *next,
                struct error *err)
{
    int at = 1;

    for (size_t i = 0; i < count; i++)
        if (table[i].kind == FLAG_STRING && !*(const char **)table[i].target)
            *(const char **)table[i].target = "";
    while (at < argc && argv[at][0] == '-' && argv[at][1] != '\0') {
        const char *argument = argv[at++];
        const char *name = argument + (argument[1] == '-' ? 2 : 1);
        size_t name_length = strcspn(name, "=");
        const char *value = name[name_length] == '=' ? name + name_length + 1 : NULL;

        if (strcmp(argument, "--") == 0)
            break;
        if (name_length == 0 || name[0] == '-')
            return error_set(err, STATUS_INVALID_ARGUMENT, "bad flag syntax: %s", argument);
        _cleanup_free_ char *plain_name = xstrndup(name, name_length);
        const struct flag *flag = find_flag(table, count, plain_name, err);
        if (!flag) {
            flag = find_joined(table, count, argument, &value);
            if (!flag)
                return -1;
            error_clear(err);
        }
        if (!value && is_switch(flag))
            value = "true";
        else if (!value && at < argc)
            value = argv[at++];
        if (!value)
            return error_set(err, STATUS_INVALID_ARGUMENT, "flag needs an argument: -%s",
                             plain_name);
        if (store_value(flag, value, err) < 0)
            return error_wrap(err,
                              flag->kind == FLAG_BOOL ? "invalid boolean value \"%s\" for -%s"
                                                      : "invalid value \"%s\" for flag -%s",
                              value, flag->name);
    }
    *next = at;
    return 0;
}

/* Nothing for an empty or zero default, as Go does it. */
static void print_default(FILE *file, const struct flag *flag)
{
    switch (flag->kind) {
    case FLAG_STRING:
        if (!text_is_empty(*(const char **)flag->target))
            fprintf(file, " (default \"%s\")", *(const char **)flag->target);
        break;
    case FLAG_BOOL:
        if (*(const bool *)flag->target)
            fputs(" (default true)", file);
        break;
    case FLAG_INT:
        if (*(const int64_t *)flag->target != 0)
            fprintf(file, " (default %lld)", (long long)*(const int64_t *)flag->target);
        break;
    case FLAG_UINT:
        if (*(const uint64_t *)flag->target != 0)
            fprintf(file, " (default %llu)", (unsigned long long)*(const uint64_t *)flag->target);
        break;
    case FLAG_DURATION: {
        long long ms = *(const int64_t *)flag->target;
        bool is_whole = ms % 1000 == 0;

        if (ms != 0)
            fprintf(file, " (default %lld%s)", is_whole ? ms / 1000 : ms, is_whole ? "s" : "ms");
        break;
    }
    case FLAG_STRING_LIST: {
        const struct string_list *list = flag->target;

        if (list->count > 0)
            fputs(" (default", file);
        for (size_t i = 0; i < list->count; i++)
            fprintf(file, " \"%s\"", list->items[i]);
        if (list->count > 0)
            fputs(")", file);
        break;
    }
    case FLAG_IGNORED_BOOL:
    case FLAG_IGNORED_VALUE:
        break;
    }
}

static void print_flag(FILE *file, const struct flag *short_form, const struct flag *flag)
{
    static const char *const value_names[] = {
        [FLAG_STRING] = "string",     [FLAG_BOOL] = "",
        [FLAG_INT] = "int",           [FLAG_UINT] = "uint",
        [FLAG_DURATION] = "duration", [FLAG_STRING_LIST] = "string",
        [FLAG_IGNORED_BOOL] = "",     [FLAG_IGNORED_VALUE] = "value",
    };
    const char *value = flag->value_name ? flag->value_name : value_names[flag->kind];

    fputs("  ", file);
    if (short_form)
        fprintf(file, "-%s, ", short_form->name);
    fprintf(file, "--%s%s%s\n        %s%s", flag->name, value[0] != '\0' ? " " : "", value,
            is_ignored(flag) ? "ignored: " : "", flag->help);
    print_default(file, flag);
    if (flag->kind == FLAG_STRING_LIST)
        fputs(" (may be repeated)", file);
    fputc('\n', file);
}

void flags_print_usage(FILE *file, const struct flag *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_ignored(&table[i]) && !flag_is_short(&table[i]))
            print_flag(file, i > 0 && flag_is_short(&table[i - 1]) ? &table[i - 1] : NULL,
                       &table[i]);
    for (size_t i = 0; i < count; i++)
        if (is_ignored(&table[i]))
            print_flag(file, NULL, &table[i]);
}
