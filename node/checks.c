#include "node/checks.h"

#include <ctype.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/linux/mount_flags.h"
#include "common/topology/segments.h"
#include "node/backend.h"
#include "node/node_info.h"

#define PATH_BYTES_MAX 4095
#define HANDLE_BYTES_MAX                                                                           \
    255 /* of a file's name; CSI allows 128, static volumes are called at will */
#define FLAGS_BYTES_MAX 4096

static bool has_control(const char *text)
{
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            return true;
    return false;
}

/* True for "/a/../b" and "/a/./b". */
static bool has_dots(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += strspn(part, "/");
        size_t length = strcspn(part, "/");
        if ((length == 1 && part[0] == '.') || (length == 2 && strncmp(part, "..", 2) == 0))
            return true;
    }
    return false;
}

int node_check_path(const char *name, const char *path, struct error *err)
{
    if (path[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s is missing", name);
    if (strlen(path) > PATH_BYTES_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s is longer than %d bytes", name,
                         PATH_BYTES_MAX);
    if (path[0] != '/' || path[1] == '\0' || has_dots(path) || has_control(path) ||
        path[strlen(path) - 1] == '/')
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "%s '%.256s' must be absolute, without '.', '..', control characters and "
                         "a slash at its end",
                         name, has_control(path) ? "?" : path);
    return 0;
}

int node_check_handle(const char *handle, struct error *err)
{
    if (handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (strlen(handle) > HANDLE_BYTES_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is longer than %d bytes",
                         HANDLE_BYTES_MAX);
    if (strchr(handle, '/') || has_control(handle) || strcmp(handle, ".") == 0 ||
        strcmp(handle, "..") == 0 || strcmp(handle, IMAGE_META_FILE) == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "volume_id cannot be the name of a file, which a node needs");
    return 0;
}

int node_check_target(const char *handle, const char *name, const char *path, struct error *err)
{
    return node_check_handle(handle, err) < 0 ? -1 : node_check_path(name, path, err);
}

static int check_flags(const struct string_list *flags, struct error *err)
{
    size_t bytes = 0;

    for (size_t i = 0; i < flags->count; i++) {
        const char *flag = flags->items[i];

        bytes += strlen(flag) + 1;
        if (!mount_flag_is_single(flag) || has_control(flag))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "mount_flags[%zu] must be one option: no control characters, no comma "
                             "but in a label of SELinux, as context=\"u:r:t:s0:c1,c2\"",
                             i);
    }
    if (bytes > FLAGS_BYTES_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "mount_flags are longer than %d bytes",
                         FLAGS_BYTES_MAX);
    return 0;
}

int node_check_capability(const struct node_volumes *volumes,
                          const struct volume_capability *capability, struct error *err)
{
    struct volume_capability copy = *capability; /* the checks take a list, and change nothing */
    const struct capability_list list = {&copy, 1};

    if (capability->type == ACCESS_TYPE_NONE && capability->mode == ACCESS_UNKNOWN)
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_capability is missing");
    if (capability_list_check(&list, err) < 0 ||
        volumes->backend->check_capabilities(&list, err) < 0)
        return -1;
    return check_flags(&capability->mount_flags, err);
}

bool node_reads_only(const struct volume_capability *capability)
{
    return access_mode_is_read_only(capability->mode) ||
           (capability->type == ACCESS_TYPE_MOUNT &&
            mount_flags_are_read_only(&capability->mount_flags));
}

int node_parse_group(const struct volume_capability *capability, gid_t *group, bool *has_group,
                     struct error *err)
{
    const char *text = capability->mount_group;
    uint64_t number = 0;

    *has_group = false;
    if (text_is_empty(text) || capability->type != ACCESS_TYPE_MOUNT)
        return 0;
    if (text_parse_u64(text, &number, err) < 0 || number >= UINT32_MAX) {
        error_clear(err);
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "volume_mount_group '%.32s' is not the number of a group", text);
    }
    *group = (gid_t)number;
    *has_group = true;
    return 0;
}

int node_context_is_true(const struct strmap *context, const char *key, bool *value,
                         struct error *err)
{
    if (text_parse_bool(strmap_get_or(context, key, "false"), value, err) < 0)
        return error_wrap(err, "volume_context: %s", key);
    return 0;
}

int node_check_stage(const struct stage_request *request, bool *is_static, struct error *err)
{
    bool is_encrypted = false;

    if (node_context_is_true(&request->context, PARAM_ENCRYPTED, &is_encrypted, err) < 0 ||
        node_context_is_true(&request->context, PARAM_STATIC_VOLUME, is_static, err) < 0)
        return -1;
    if (is_encrypted)
        return node_refuse_encrypted(err);
    return credentials_check(&request->credentials, err);
}

int node_check_place(const struct node_volumes *volumes, struct call *call,
                     const struct stage_request *request, struct error *err)
{
    _cleanup_strmap_ struct strmap pinned = {0};

    segments_parse(strmap_get_or(&request->context, PARAM_SEGMENTS, ""), &pinned);
    if (!volumes->enforces_places || pinned.count == 0)
        return 0;
    return node_info_check_place(volumes->info, call, &pinned, err);
}

int node_refuse_encrypted(struct error *err)
{
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "it is encrypted, which this driver cannot open yet");
}

int node_check_lifecycle(const struct strmap *context, struct error *err)
{
    const char *ephemeral = strmap_get_or(context, PARAM_EPHEMERAL, "false");

    if (strcmp(ephemeral, "true") != 0)
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "inline volumes (csi: in the pod) are not served: nobody would delete their "
                     "images; use a generic ephemeral volume (ephemeral: in the pod), which is a "
                     "claim of its own");
}

int node_begin(const struct node_volumes *volumes, const char *handle, struct call *call,
               struct operation *operation, struct error *err)
{
    return operation_begin(volumes->operations, "node", handle, call, operation, err);
}
