#include "common/volume/wire.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/rpc/message.h"

/* The generated code has one entry type per map field; all have a key and a value string. */
static char **get_entry_field(ProtobufCMessage *entry, unsigned number)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(entry->descriptor, number);

    assert(field && field->type == PROTOBUF_C_TYPE_STRING);
    return (char **)((char *)entry + field->offset);
}

void wire_get_map(size_t count, void *entries, struct strmap *map)
{
    ProtobufCMessage **messages = entries;

    for (size_t i = 0; i < count; i++)
        strmap_set(map, *get_entry_field(messages[i], 1), *get_entry_field(messages[i], 2));
}

void *wire_put_map(const ProtobufCMessageDescriptor *entry_type, const struct strmap *map,
                   size_t *count)
{
    ProtobufCMessage **messages = xcalloc(map->count, sizeof(ProtobufCMessage *));

    for (size_t i = 0; i < map->count; i++) {
        messages[i] = message_new(entry_type);
        *get_entry_field(messages[i], 1) = xstrdup(map->entries[i].key);
        *get_entry_field(messages[i], 2) = xstrdup(map->entries[i].value);
    }
    *count = map->count;
    return messages;
}

void wire_get_credentials(size_t count, void *entries, struct credentials *credentials)
{
    ProtobufCMessage **messages = entries;
    _cleanup_free_ struct secret_entry *secrets = xcalloc(count, sizeof(*secrets));

    for (size_t i = 0; i < count; i++)
        secrets[i] = (struct secret_entry){*get_entry_field(messages[i], 1),
                                           *get_entry_field(messages[i], 2)};
    credentials_from_secrets(secrets, count, credentials);
}

void wire_get_capability(const Csi__V1__VolumeCapability *message,
                         struct volume_capability *capability)
{
    *capability = (struct volume_capability){0};
    if (message->access_mode)
        capability->mode = (enum access_mode)message->access_mode->mode;
    switch (message->access_type_case) {
    case CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK:
        capability->type = ACCESS_TYPE_BLOCK;
        break;
    case CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT:
        capability->type = ACCESS_TYPE_MOUNT;
        capability->fs_type = xstrdup(message->mount->fs_type);
        capability->mount_group = xstrdup(message->mount->volume_mount_group);
        for (size_t i = 0; i < message->mount->n_mount_flags; i++)
            string_list_add(&capability->mount_flags, message->mount->mount_flags[i]);
        break;
    default:
        capability->type = ACCESS_TYPE_NONE;
    }
}

void wire_get_capabilities(size_t count, Csi__V1__VolumeCapability *const *messages,
                           struct capability_list *list)
{
    list->items = xcalloc(count, sizeof(*list->items));
    list->count = count;
    for (size_t i = 0; i < count; i++)
        wire_get_capability(messages[i], &list->items[i]);
}

Csi__V1__VolumeCapability *wire_put_capability(const struct volume_capability *capability)
{
    Csi__V1__VolumeCapability *message = message_new(&csi__v1__volume_capability__descriptor);

    message->access_mode = message_new(&csi__v1__volume_capability__access_mode__descriptor);
    message->access_mode->mode = (Csi__V1__VolumeCapability__AccessMode__Mode)capability->mode;
    if (capability->type == ACCESS_TYPE_BLOCK) {
        message->access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
        message->block = message_new(&csi__v1__volume_capability__block_volume__descriptor);
    } else {
        message->access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT;
        Csi__V1__VolumeCapability__MountVolume *mount =
            message_new(&csi__v1__volume_capability__mount_volume__descriptor);

        mount->fs_type = xstrdup(capability->fs_type);
        mount->volume_mount_group = xstrdup(capability->mount_group);
        mount->n_mount_flags = capability->mount_flags.count;
        mount->mount_flags = xcalloc(mount->n_mount_flags, sizeof(char *));
        for (size_t i = 0; i < mount->n_mount_flags; i++)
            mount->mount_flags[i] = xstrdup(capability->mount_flags.items[i]);
        message->mount = mount;
    }
    return message;
}

void wire_get_topology(const Csi__V1__Topology *message, struct strmap *segments)
{
    if (message)
        wire_get_map(message->n_segments, message->segments, segments);
}

Csi__V1__Topology *wire_put_topology(const struct strmap *segments)
{
    Csi__V1__Topology *message = message_new(&csi__v1__topology__descriptor);

    message->segments = wire_put_map(&csi__v1__topology__segments_entry__descriptor, segments,
                                     &message->n_segments);
    return message;
}

Csi__V1__VolumeHealth *wire_put_health(const char *handle, Csi__V1__VolumeHealthErrorType status,
                                       const char *reason, const char *message)
{
    Csi__V1__VolumeHealth *health = message_new(&csi__v1__volume_health__descriptor);

    health->volume_id = xstrdup(handle);
    if (!message)
        return health;
    Csi__V1__VolumeHealth__VolumeHealthEntry *entry =
        message_new(&csi__v1__volume_health__volume_health_entry__descriptor);
    entry->status = status;
    entry->reason = xstrdup(reason);
    entry->message = xstrdup(message);
    health->health_statuses = xcalloc(1, sizeof(*health->health_statuses));
    health->health_statuses[health->n_health_statuses++] = entry;
    return health;
}

static void add_terms(size_t count, Csi__V1__Topology *const *messages,
                      struct topology_terms *terms)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_strmap_ struct strmap segments = {0};

        wire_get_topology(messages[i], &segments);
        if (segments.count > 0)
            topology_terms_add(terms, &segments);
    }
}

void wire_get_requirement(const Csi__V1__TopologyRequirement *message,
                          struct topology_requirement *requirement)
{
    if (!message)
        return;
    add_terms(message->n_preferred, message->preferred, &requirement->preferred);
    add_terms(message->n_requisite, message->requisite, &requirement->requisite);
}

void wire_get_range(const Csi__V1__CapacityRange *message, struct capacity_range *range)
{
    *range = (struct capacity_range){0};
    if (message)
        *range = (struct capacity_range){message->required_bytes, message->limit_bytes};
}
