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

static bool is_boolean(const struct flag *flag)
{
    return flag->kind == FLAG_BOOL || flag->kind == FLAG_IGNORED_BOOL;
}

static int refuse_unknown(const struct flag *table, size_t count, const char *name,
                          struct error *err)
{
    struct nearest nearest = NEAREST_INIT(name);

    for (size_t i = 0; i < count; i++)
        nearest_offer(&nearest, table[i].name);
    error_set(err, STATUS_INVALID_ARGUMENT, "flag provided but not defined: -%s", name);
    return nearest.name ? error_hint(err, "did you mean '--%s'?", nearest.name) : -1;
}

static const struct flag *find(const struct flag *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static int convert(const struct flag *flag, const char *value, struct error *err)
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
        return 0;
    }
    return error_set(err, STATUS_INTERNAL, "flag -%s is of no known kind", flag->name);
}

static int assign(const struct flag *flag, const char *value, struct error *err)
{
    if (convert(flag, value, err) == 0)
        return 0;
    if (flag->kind == FLAG_BOOL)
        return error_wrap(err, "invalid boolean value \"%s\" for -%s", value, flag->name);
    return error_wrap(err, "invalid value \"%s\" for flag -%s", value, flag->name);
}

struct arguments {
    char **argv;
    int argc;
    int next;
};

/* Reads the flag at argv[next] and moves next behind it and its value. */
static int parse_one(const struct flag *table, size_t count, struct arguments *arguments,
                     struct error *err)
{
    const char *argument = arguments->argv[arguments->next++];
    const char *name = argument + (argument[1] == '-' ? 2 : 1);
    size_t name_length = strcspn(name, "=");
    const char *value = name[name_length] == '=' ? name + name_length + 1 : NULL;

    if (name_length == 0 || name[0] == '-')
        return error_set(err, STATUS_INVALID_ARGUMENT, "bad flag syntax: %s", argument);
    _cleanup_free_ char *plain_name = xstrndup(name, name_length);
    const struct flag *flag = find(table, count, plain_name);
    if (!flag)
        return refuse_unknown(table, count, plain_name, err);
    if (!value && is_boolean(flag))
        value = "true";
    else if (!value && arguments->next < arguments->argc)
        value = arguments->argv[arguments->next++];
    if (!value)
        return error_set(err, STATUS_INVALID_ARGUMENT, "flag needs an argument: -%s", plain_name);
    return assign(flag, value, err);
}

int flags_parse(const struct flag *table, size_t count, int argc, char **argv, int *next,
                struct error *err)
{
    struct arguments arguments = {argv, argc, 1};

    while (arguments.next < argc) {
        const char *argument = argv[arguments.next];

        if (argument[0] != '-' || argument[1] == '\0')
            break;
        if (strcmp(argument, "--") == 0) {
            arguments.next++;
            break;
        }
        if (parse_one(table, count, &arguments, err) < 0)
            return -1;
    }
    *next = arguments.next;
    return 0;
}

static const char *value_name(const struct flag *flag)
{
    static const char *const names[] = {
        [FLAG_STRING] = "string",     [FLAG_BOOL] = "",
        [FLAG_INT] = "int",           [FLAG_UINT] = "uint",
        [FLAG_DURATION] = "duration", [FLAG_STRING_LIST] = "string",
        [FLAG_IGNORED_BOOL] = "",     [FLAG_IGNORED_VALUE] = "value",
    };

    return flag->value_name ? flag->value_name : names[flag->kind];
}

static void print_list(FILE *file, const struct string_list *list)
{
    if (list->count == 0)
        return;
    fputs(" (default", file);
    for (size_t i = 0; i < list->count; i++)
        fprintf(file, " \"%s\"", list->items[i]);
    fputs(")", file);
}

static void print_duration(FILE *file, int64_t ms)
{
    if (ms % 1000 == 0)
        fprintf(file, " (default %llds)", (long long)(ms / 1000));
    else
        fprintf(file, " (default %lldms)", (long long)ms);
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
    case FLAG_DURATION:
        if (*(const int64_t *)flag->target != 0)
            print_duration(file, *(const int64_t *)flag->target);
        break;
    case FLAG_STRING_LIST:
        print_list(file, flag->target);
        break;
    case FLAG_IGNORED_BOOL:
    case FLAG_IGNORED_VALUE:
        break;
    }
}

static void print_flag(FILE *file, const struct flag *flag)
{
    const char *value = value_name(flag);

    fprintf(file, "  --%s%s%s\n        %s%s", flag->name, value[0] != '\0' ? " " : "", value,
            is_ignored(flag) ? "ignored: " : "", flag->help);
    print_default(file, flag);
    if (flag->kind == FLAG_STRING_LIST)
        fputs(" (may be repeated)", file);
    fputc('\n', file);
}

void flags_print_usage(FILE *file, const struct flag *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_ignored(&table[i]))
            print_flag(file, &table[i]);
    for (size_t i = 0; i < count; i++)
        if (is_ignored(&table[i]))
            print_flag(file, &table[i]);
}
