#include "common/volume/client_keys.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"

/* --- addresses --- */

/* Where the host is in @text, which may begin with a kind or a list. */
static const char *skip_kind(const char *text)
{
    static const char *const kinds[] = {"v1:", "v2:", "any:"}; /* they say nothing of the host */

    if (text_has_prefix(text, "[v") || text_has_prefix(text, "[any:"))
        text++; /* a list; an IPv6 address has no 'v' and no "any" */
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
        if (text_has_prefix(text, kinds[i]))
            return text + strlen(kinds[i]);
    return text;
}

/* @host is the whole of an address or nothing. Caller frees. */
static char *print_host(const char *host)
{
    static const unsigned char nobody[sizeof(struct in6_addr)]; /* every host, or none */
    const int family = strchr(host, ':') ? AF_INET6 : AF_INET;
    unsigned char bytes[sizeof(struct in6_addr)] = {0};
    char written[INET6_ADDRSTRLEN];

    if (inet_pton(family, host, bytes) != 1 || memcmp(bytes, nobody, sizeof(bytes)) == 0 ||
        !inet_ntop(family, bytes, written, sizeof(written)))
        return NULL;
    return xstrdup(written);
}

int client_address_parse(const char *text, char **address, struct error *err)
{
    char *whole = print_host(text);

    if (!whole) {
        const char *at = skip_kind(text);
        const bool is_six = *at == '[';
        const size_t length = strcspn(at + is_six, is_six ? "]" : ":");
        _cleanup_free_ char *host = xstrndup(at + is_six, length);

        if (at[is_six + length] != '\0' && is_six == (strchr(host, ':') != NULL))
            whole = print_host(host);
    }
    if (!whole)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.128s' is no address of a client", text);
    *address = whole;
    return 0;
}

/* --- keys --- */

static const char *address_prefix(const struct client_place *place)
{
    return place->is_cephfs ? METADATA_CEPHFS_CLIENT : METADATA_RBD_CLIENT;
}

static const char *lasting_prefix(const struct client_place *place)
{
    return place->is_cephfs ? CLIENT_RECORD_CEPHFS : CLIENT_RECORD_RBD;
}

static char *address_key(const struct client_place *place, const char *node_id)
{
    return xasprintf("%s%s/%s", address_prefix(place), place->handle, node_id);
}

static char *user_key(const struct client_place *place, const char *node_id)
{
    const char *prefix = place->is_cephfs ? METADATA_CEPHFS_USER : METADATA_RBD_USER;

    return xasprintf("%s%s/%s", prefix, place->handle, node_id);
}

static char *lasting_key(const struct client_place *place, const char *node_id)
{
    return xasprintf("%s%s", lasting_prefix(place), node_id);
}

int client_keys_fill(const struct client_place *place, const char *node_id, const char *printed,
                     const char *user, struct strmap *entries, struct error *err)
{
    _cleanup_free_ char *address = NULL;

    if (client_address_parse(printed, &address, err) < 0)
        return error_recode(err, STATUS_INTERNAL);
    if (!place->handle) {
        _cleanup_free_ char *lasting = lasting_key(place, node_id);

        strmap_set(entries, lasting, printed);
        return 0;
    }
    _cleanup_free_ char *at = address_key(place, node_id);
    _cleanup_free_ char *as = user_key(place, node_id);
    strmap_set(entries, as, user);
    strmap_set(entries, at, address);
    return 0;
}

/* --- reading --- */

/* Of a key that begins with @prefix and has no more slashes: the node. NULL for other keys. */
static const char *node_behind(const char *key, const char *prefix)
{
    const char *node = text_has_prefix(key, prefix) ? key + strlen(prefix) : NULL;

    return !node || node[0] == '\0' || strchr(node, '/') ? NULL : node;
}

static int add_clients(const struct strmap *metadata, const char *prefix, struct strmap *clients,
                       struct error *err)
{
    for (size_t i = 0; i < metadata->count; i++) {
        const struct strmap_entry *entry = &metadata->entries[i];
        const char *node = node_behind(entry->key, prefix);
        _cleanup_free_ char *address = NULL;

        if (!node || strmap_has(clients, node))
            continue;
        if (client_address_parse(entry->value, &address, err) < 0)
            return error_wrap(err, "metadata '%s'", entry->key);
        strmap_set(clients, node, address);
    }
    return 0;
}

int client_keys_read(const struct client_place *place, const struct strmap *metadata,
                     struct strmap *clients, struct error *err)
{
    _cleanup_free_ char *own = NULL;
    _cleanup_strmap_ struct strmap found = {0};

    if (place->handle) {
        own = xasprintf("%s%s/", address_prefix(place), place->handle);
        if (add_clients(metadata, own, &found, err) < 0 ||
            add_clients(metadata, address_prefix(place), &found, err) < 0)
            return -1;
    }
    if (add_clients(metadata, lasting_prefix(place), &found, err) < 0)
        return -1;
    strmap_merge(clients, &found);
    return 0;
}

/* --- detaching --- */

void client_keys_retire(const struct client_place *place, const char *node_id,
                        const struct strmap *metadata, struct strmap *entries,
                        struct string_list *removed)
{
    _cleanup_free_ char *at = address_key(place, node_id);
    _cleanup_free_ char *as = user_key(place, node_id);
    _cleanup_free_ char *first = xasprintf("%s%s", address_prefix(place), node_id);
    _cleanup_free_ char *lasting = lasting_key(place, node_id);
    const char *const keys[] = {at, first, as};
    const char *address = strmap_get_or(metadata, at, strmap_get(metadata, first));

    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
        if (strmap_has(metadata, keys[i]))
            string_list_add(removed, keys[i]);
    if (!text_is_empty(address) && strcmp(strmap_get_or(metadata, lasting, ""), address) != 0)
        strmap_set(entries, lasting, address);
}
