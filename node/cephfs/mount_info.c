#include "node/cephfs/mount_info.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"

#define WHAT "nodestage.json"
#define OWN_OBJECT "cephzone" /* what Ceph-CSI does not read */
#define SECRETS_MAX 16

/* --- the capability, as protobuf writes it in JSON --- */

struct capability_json {
    struct volume_capability capability;
    char *mode;
};

static const struct json_field CAPABILITY_FIELDS[] = {
    JSON_FIELD_STRING("mount.fsType", struct capability_json, capability.fs_type),
    JSON_FIELD_STRING("mount.volumeMountGroup", struct capability_json, capability.mount_group),
    JSON_FIELD_STRINGS("mount.mountFlags", struct capability_json, capability.mount_flags),
    JSON_FIELD_STRING("accessMode.mode", struct capability_json, mode),
};
static const struct json_table CAPABILITY_TABLE =
    JSON_TABLE(struct capability_json, CAPABILITY_FIELDS);

static char *put_capability(const struct volume_capability *capability)
{
    json_auto_t *json = json_object();
    json_t *mount = json_object();

    if (capability->fs_type && capability->fs_type[0])
        json_object_set_new(mount, "fsType", json_string(capability->fs_type));
    if (capability->mount_flags.count > 0)
        json_object_set_new(mount, "mountFlags", json_from_strings(&capability->mount_flags));
    if (capability->mount_group && capability->mount_group[0])
        json_object_set_new(mount, "volumeMountGroup", json_string(capability->mount_group));
    json_object_set_new(json, "mount", mount);
    json_object_set_new(json, "accessMode",
                        json_pack("{s:s}", "mode", access_mode_name(capability->mode)));
    return json_dumps(json, JSON_COMPACT);
}

static int get_capability(const char *text, struct volume_capability *capability, struct error *err)
{
    json_auto_t *json = NULL;
    struct capability_json found = {0};
    int result = json_load_text(text, strlen(text), "capability", &json, err);

    if (result == 0)
        result = json_decode(json, &CAPABILITY_TABLE, &found, err);
    if (result == 0) {
        *capability = found.capability;
        capability->type = ACCESS_TYPE_MOUNT;
        capability->mode = access_mode_find(found.mode);
        found.capability = (struct volume_capability){0};
    }
    json_free_fields(&CAPABILITY_TABLE, &found);
    return result;
}

/* --- the file --- */

struct file_json {
    char *capability;
    json_t *secrets;
    struct mount_info info;
};

static const struct json_field FILE_FIELDS[] = {
    JSON_FIELD_STRING("VolumeCapabilityProtoJSON", struct file_json, capability),
    JSON_FIELD_VALUE("Secrets", struct file_json, secrets),
    JSON_FIELD_STRING(OWN_OBJECT ".stagingPath", struct file_json, info.staging_path),
    JSON_FIELD_STRING(OWN_OBJECT ".mounter", struct file_json, info.mounter),
    JSON_FIELD_STRING(OWN_OBJECT ".root", struct file_json, info.root),
    JSON_FIELD_STRMAP(OWN_OBJECT ".volumeContext", struct file_json, info.context),
};
static const struct json_table FILE_TABLE = JSON_TABLE(struct file_json, FILE_FIELDS);

char *mount_info_print(const struct mount_info *info)
{
    _cleanup_free_ char *capability = put_capability(&info->capability);
    json_auto_t *json = json_pack(
        "{s:s, s:o, s:{}, s:{s:s, s:s, s:s, s:o}}", "VolumeCapabilityProtoJSON", capability,
        "MountOptions", json_from_strings(&info->capability.mount_flags), "Secrets", OWN_OBJECT,
        "stagingPath", info->staging_path, "mounter", info->mounter, "root", info->root,
        "volumeContext", json_from_strmap(&info->context));

    return json ? json_dumps(json, JSON_COMPACT) : xstrdup("{}");
}

static void get_secrets(json_t *secrets, struct credentials *credentials)
{
    struct secret_entry entries[SECRETS_MAX];
    size_t count = 0;
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach(secrets, name, value)
    {
        if (count < SECRETS_MAX && json_is_string(value))
            entries[count++] = (struct secret_entry){name, json_string_value(value)};
    }
    credentials_from_secrets(entries, count, credentials);
}

/* What the table leaves to do. */
static int complete_info(struct file_json *file, struct error *err)
{
    struct mount_info *info = &file->info;

    if (!file->capability)
        return error_set(err, STATUS_DATA_LOSS, "it has no capability");
    if (info->staging_path && (!info->mounter || !info->root))
        return error_set(err, STATUS_DATA_LOSS, "it does not tell what is mounted");
    if (get_capability(file->capability, &info->capability, err) < 0)
        return -1;
    get_secrets(file->secrets, &info->credentials);
    return 0;
}

int mount_info_parse(const char *text, struct mount_info *info, struct error *err)
{
    json_auto_t *json = NULL;
    struct file_json file = {0};
    int result = json_load_text(text, strlen(text), WHAT, &json, err);

    if (result == 0)
        result = json_decode(json, &FILE_TABLE, &file, err);
    if (result == 0)
        result = complete_info(&file, err);
    if (result == 0) {
        *info = file.info;
        file.info = (struct mount_info){0};
    }
    json_free_fields(&FILE_TABLE, &file);
    return result < 0 ? error_recode(err, STATUS_DATA_LOSS) : 0;
}

void mount_info_done(struct mount_info *info)
{
    volume_capability_done(&info->capability);
    credentials_done(&info->credentials);
    free_all(info->staging_path, info->mounter, info->root);
    strmap_done(&info->context);
    *info = (struct mount_info){0};
}
