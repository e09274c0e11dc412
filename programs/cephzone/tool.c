#include "programs/cephzone/tool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/keyring.h"
#include "common/encoding/json.h"
#include "common/topology/quantity.h"

void tool_print_help(const struct tool_command *command, FILE *file)
{
    fprintf(file, "%s\n", command->help);
    flags_print_usage(file, command->flags, command->count);
}

bool tool_handle_help(const struct tool_command *command, int argc, char **argv)
{
    if (argc < 2 || (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0))
        return false;
    tool_print_help(command, stdout);
    return true;
}

int tool_parse_flags(const struct tool_command *command, int argc, char **argv,
                     struct string_list *arguments, struct error *err)
{
    int next = 0;

    do {
        if (flags_parse(command->flags, command->count, argc, argv, &next, err) < 0)
            return -1;
        if (next < argc && !arguments)
            return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is no flag", argv[next]);
        if (next < argc)
            string_list_add(arguments, argv[next]);
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

    if (tool_handle_help(command, argc, argv))
        return 0;
    if (tool_parse_flags(command, argc, argv, command->arguments, &err) < 0 ||
        (command->check && command->check(command->values, &err) < 0))
        return tool_fail(command->name, TOOL_USAGE, &err);
    return command->run(command->values);
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
