#include "programs/cephzone/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/keyring.h"
#include "common/encoding/json.h"
#include "common/topology/quantity.h"
#include "programs/cephzone/completion.h"

static void print_help(const struct tool_command *command)
{
    printf("%s\n", command->help);
    flags_print_usage(stdout, command->flags, command->count);
}

/* Wherever it is, as kubectl has it. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int add_argument(const struct tool_command *command, const char *word, struct error *err)
{
    if (!command->arguments)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is no flag", word);
    string_list_add(command->arguments, word);
    return 0;
}

/* flags_parse() ends at the first other argument; whatever follows "--" is one. */
static int parse_line(const struct tool_command *command, int argc, char **argv, struct error *err)
{
    int next = 0;

    do {
        if (flags_parse(command->flags, command->count, argc, argv, &next, err) < 0)
            return -1;
        bool only_arguments = next > 1 && strcmp(argv[next - 1], "--") == 0;
        for (int i = next; i < argc; i++) {
            if (add_argument(command, argv[i], err) < 0)
                return -1;
            if (!only_arguments)
                break;
        }
        if (only_arguments)
            return 0;
        argc -= next;
        argv += next;
    } while (argc > 1);
    return 0;
}

int tool_fail(const char *command, int code, const struct error *err)
{
    fprintf(stderr, "cephzone %s: %s\n", command, err->message);
    return code;
}

int tool_run(const struct tool_command *command, int argc, char **argv)
{
    _cleanup_error_ struct error err = {0};

    if (argc > 1 && strcmp(argv[1], TOOL_COMPLETE) == 0) {
        completion_print(command, argc - 2, argv + 2, stdout);
        return 0;
    }
    if (asks_for_help(argc, argv)) {
        print_help(command);
        return 0;
    }
    if (parse_line(command, argc, argv, &err) < 0) {
        if (!strstr(err.message, "did you mean"))
            error_hint(&err, "see 'cephzone %s --help'", command->name);
        return tool_fail(command->name, TOOL_USAGE, &err);
    }
    if (command->check && command->check(command->values, &err) < 0)
        return tool_fail(command->name, TOOL_USAGE, &err);
    return command->run(command->values);
}

/* One look: what it prints, or NULL after a failure, which *@complaint has then. Caller frees. */
static char *look_once(tool_print_fn *print, void *object, int *code, char **complaint)
{
    _cleanup_error_ struct error err = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);

    if (!file)
        abort(); /* out of memory */
    *code = print(object, file, &err);
    fclose(file);
    if (!err.message)
        return text;
    free(text);
    *complaint = xstrdup(err.message);
    return NULL;
}

int tool_follow(const char *command, bool watch, tool_print_fn *print, void *object)
{
    _cleanup_free_ char *shown = NULL;
    int code = 0;

    do {
        _cleanup_free_ char *complaint = NULL;
        _cleanup_free_ char *text = look_once(print, object, &code, &complaint);

        if (complaint)
            fprintf(stderr, "cephzone %s: %s\n", command, complaint);
        if (text && (!shown || strcmp(text, shown) != 0)) {
            printf("%s%s", shown && text[0] ? "\n" : "", text);
            free(shown);
            shown = TAKE(text);
        }
        if (fflush(stdout) != 0 || ferror(stdout))
            break;
        if (watch)
            usleep(TOOL_WATCH_MS * 1000);
    } while (watch);
    return code;
}

int tool_check_output(const char *output, const char *const *formats, struct error *err)
{
    _cleanup_text_ struct text names = TEXT_INIT(256);

    for (size_t i = 0; formats[i]; i++) {
        if (strcmp(output, formats[i]) == 0)
            return 0;
        text_addf(&names, "%s'%s'", i == 0 ? "" : formats[i + 1] ? ", " : " or ", formats[i]);
    }
    return error_set(err, STATUS_INVALID_ARGUMENT, "-o takes %s, not '%s'", text_chars(&names),
                     output);
}

int tool_check_cluster(const struct tool_flags *flags, struct error *err)
{
    if (flags->config[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--config is missing");
    if ((flags->secrets[0] == '\0') == (flags->keyring[0] == '\0'))
        return error_set(err, STATUS_INVALID_ARGUMENT, "one of --secrets and --keyring is needed");
    return 0;
}

int tool_check_timeout(const struct tool_flags *flags, struct error *err)
{
    if (flags->timeout_ms <= 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--timeout must be positive");
    return 0;
}

int tool_check_classes(const struct tool_flags *flags, struct error *err)
{
    if (flags->classes[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--classes is missing");
    return tool_check_timeout(flags, err);
}

int tool_parse_size(const char *text, uint64_t *bytes, struct error *err)
{
    _cleanup_free_ char *copy = xstrdup(text);
    size_t length = strlen(copy);
    struct quantity quantity;

    if (length > 2 && strcmp(&copy[length - 2], "iB") == 0)
        copy[length - 1] = '\0'; /* Kubernetes writes "10Gi" */
    if (quantity_parse(copy, &quantity, err) < 0)
        return -1;
    if (quantity.nano < 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.40s' is negative", text);
    *bytes = (uint64_t)quantity_value(&quantity);
    return 0;
}

bool tool_prints_json(const struct tool_flags *flags)
{
    return strcmp(flags->output, "json") == 0;
}

static int read_secrets(const char *path, struct credentials *credentials, struct error *err)
{
    static const char *const keys[] = CREDENTIALS_SECRET_KEYS;
    struct secret_entry entries[ARRAY_LENGTH(keys)];
    json_auto_t *json = NULL;

    if (json_load_path(path, JSON_TEXT_LIMIT, &json, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        const json_t *value = json_object_get(json, keys[i]);

        if (value && !json_is_string(value))
            return error_set(err, STATUS_INVALID_ARGUMENT, "'%s': %s: expected a string, found %s",
                             path, keys[i], json_type_name(value));
        entries[i] = (struct secret_entry){keys[i], value ? json_string_value(value) : ""};
    }
    credentials_from_secrets(entries, ARRAY_LENGTH(entries), credentials);
    return credentials_check(credentials, err) < 0 ? error_wrap(err, "'%s'", path) : 0;
}

int tool_read_credentials(const struct tool_flags *flags, struct credentials *credentials,
                          struct error *err)
{
    bool found = false;

    if (flags->secrets[0])
        return read_secrets(flags->secrets, credentials, err);
    if (keyring_read(flags->keyring, credentials, &found, err) < 0)
        return -1;
    if (!found)
        return error_set(err, STATUS_NOT_FOUND, "there is no keyring '%s', or no user in it",
                         flags->keyring);
    return 0;
}

int tool_read_takeover(const char *path, struct config_file *config, struct tool_takeover *takeover,
                       struct error *err)
{
    const char *fault = NULL;
    json_auto_t *json = NULL;

    if (path[0]) {
        if (json_load_path(path, JSON_TEXT_LIMIT, &json, err) < 0)
            return -1;
        if (takeover_map_decode(json, &takeover->own, err) < 0)
            return error_wrap(err, "takeover map '%s'", path);
        takeover->map = &takeover->own;
        return 0;
    }
    if (!config)
        return 0;
    if (config_file_get(config, &takeover->config, err) < 0)
        return -1;
    takeover->map = config_takeover(takeover->config, &fault);
    return takeover->map ? 0 : error_set(err, STATUS_INVALID_ARGUMENT, "takeover map: %s", fault);
}

void tool_takeover_done(struct tool_takeover *takeover)
{
    takeover_map_done(&takeover->own);
    if (takeover->config)
        config_unref(takeover->config);
    *takeover = (struct tool_takeover){0};
}

int tool_leave_ceph(struct ceph *ceph, int code)
{
    if (ceph && !ceph_free(ceph)) {
        fflush(NULL);
        _exit(code); /* an attempt to reach a cluster hangs */
    }
    return code;
}
