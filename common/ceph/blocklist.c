#include "common/ceph/blocklist.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"

#define YEAR_SECONDS 31536000

const char BLOCKLIST_LIST_COMMAND[] = "{\"prefix\": \"osd blocklist ls\", \"format\": \"json\"}";

/* --- reading --- */

/*
 * Takes "192.0.2.7:0/0" and "[fd00::7]:0/0" apart: the address, and what is behind the last slash.
 * False for anything else, entries with a port included.
 */
static bool split_entry(const char *text, char *address, const char **behind)
{
    const char *end = strstr(text, ":0/");

    if (text_has_prefix(text, "v1:") || text_has_prefix(text, "v2:"))
        text += 3;
    if (text[0] == '[') {
        text++;
        end = strstr(text, "]:0/");
    }
    if (!end || end < text || end - text >= NETWORK_TEXT_MAX)
        return false;
    memcpy(address, text, (size_t)(end - text));
    address[end - text] = '\0';
    *behind = strchr(end, '/') + 1;
    return true;
}

/* False for an entry of a single client. */
static bool decode_blocklist_entry(const char *text, bool is_range, struct blocklist_entry *entry)
{
    _cleanup_error_ struct error err = {0};
    char address[NETWORK_TEXT_MAX];
    char whole[2 * NETWORK_TEXT_MAX];
    const char *behind = NULL;
    bool has_host_bits = false;

    if (!split_entry(text, address, &behind) || (!is_range && strcmp(behind, "0") != 0))
        return false;
    snprintf(whole, sizeof(whole), is_range ? "%s/%.4s" : "%s", address, behind);
    if (strlen(whole) >= sizeof(entry->address) ||
        network_parse(whole, &entry->network, &has_host_bits, &err) < 0)
        return false;
    memcpy(entry->address, whole, strlen(whole) + 1);
    entry->is_range = is_range;
    return true;
}

static void add_entries(struct blocklist *list, const json_t *items, bool is_range)
{
    size_t i = 0;
    json_t *item = NULL;

    json_array_foreach(items, i, item)
    {
        const char *text = json_string_value(json_object_get(item, is_range ? "range" : "addr"));
        const char *until = json_string_value(json_object_get(item, "until"));
        struct blocklist_entry entry = {0};

        if (!text || !until || !decode_blocklist_entry(text, is_range, &entry))
            continue;
        entry.until = xstrdup(until);
        *array_add(list->items, list->count) = entry;
    }
}

/* Versions that know ranges print a second list behind the first: not JSON as a whole. */
int blocklist_decode(const char *reply, struct blocklist *list, struct error *err)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK;
    json_error_t state;
    json_auto_t *addresses = json_loads(reply, flags, &state);

    if (!json_is_array(addresses))
        return error_set(err, STATUS_INTERNAL, "osd blocklist ls: expected a list");
    add_entries(list, addresses, false);
    json_auto_t *ranges = json_loads(reply + state.position, flags, NULL);
    list->knows_ranges = json_is_array(ranges);
    add_entries(list, ranges, true);
    return 0;
}

int blocklist_read(struct ceph_cluster *cluster, struct call *call, struct blocklist *list,
                   struct error *err)
{
    _cleanup_free_ char *reply = NULL;

    if (cluster->ops->mon_command(cluster, call, BLOCKLIST_LIST_COMMAND, &reply, err) < 0 ||
        blocklist_decode(reply, list, err) < 0)
        return error_wrap(err, "read the blocklist");
    return 0;
}

void blocklist_done(struct blocklist *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].until);
    free(list->items);
    *list = (struct blocklist){0};
}

char *blocklist_lasting(void)
{
    time_t at = time(NULL) + YEAR_SECONDS;
    struct tm parts;

    gmtime_r(&at, &parts);
    return xasprintf("%04d-%02d-%02dT%02d:%02d", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

bool blocklist_has(const struct blocklist *list, const struct network *network, bool is_range,
                   const char *until)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].is_range == is_range && strcmp(list->items[i].until, until) >= 0 &&
            network_is_equal(&list->items[i].network, network))
            return true;
    return false;
}

/* "2031-11-16T06:10:54.477800+0000"; "...Z" and a blank for the T in some versions. */
int64_t blocklist_seconds_left(const struct blocklist_entry *entry)
{
    struct tm utc = {0};
    _cleanup_free_ char *text = xstrdup(entry->until);

    if (strlen(text) > 10 && text[10] == 'T')
        text[10] = ' ';
    const char *rest = strptime(text, "%Y-%m-%d %H:%M:%S", &utc);
    if (!rest)
        return -1;
    rest += *rest == '.' ? 1 + strspn(rest + 1, "0123456789") : 0;
    if (*rest && strcmp(rest, "Z") != 0 && strcmp(rest, "+0000") != 0)
        return -1; /* another zone: Ceph prints UTC unless it is told to do otherwise */
    const int64_t left = (int64_t)timegm(&utc) - (int64_t)time(NULL);
    return left > 0 ? left : 0;
}

/* --- changing --- */

/* @seconds counts for "add". */
static char *print_change(const char *operation, const char *address, bool is_range, int seconds)
{
    _cleanup_text_ struct text command = TEXT_INIT(512);

    text_add(&command, "{\"prefix\": \"osd blocklist\", ");
    if (is_range)
        text_add(&command, "\"range\": \"range\", ");
    text_addf(&command, "\"blocklistop\": \"%s\", \"addr\": \"%s\"", operation, address);
    if (strcmp(operation, "add") == 0)
        text_addf(&command, ", \"expire\": %d.0", seconds);
    text_add(&command, "}");
    return text_take(&command);
}

/* An address without port and number stands for all clients there; Ceph wants it in brackets only
 * with these. */
static char *print_address(const char *address, bool is_v6)
{
    return xasprintf(is_v6 ? "[%s]:0/0" : "%s:0/0", address);
}

static char *print_command(const char *operation, const struct network *network, bool is_range,
                           int seconds)
{
    char text[NETWORK_TEXT_MAX];

    if (is_range) {
        network_print(network, text);
        return print_change(operation, text, true, seconds);
    }
    network_print_address(network, text);
    _cleanup_free_ char *address = print_address(text, network->is_v6);
    return print_change(operation, address, false, seconds);
}

char *blocklist_command(const char *operation, const struct network *network, bool is_range)
{
    return print_command(operation, network, is_range, BLOCKLIST_SECONDS);
}

static int send_change(struct ceph_cluster *cluster, struct call *call, const char *command,
                       struct error *err)
{
    _cleanup_free_ char *reply = NULL;

    if (cluster->ops->mon_command(cluster, call, command, &reply, err) == 0)
        return 0;
    if (err->status == STATUS_PERMISSION_DENIED) /* a right that many users lack */
        error_hint(err, "the user needs the monitor capability: allow command \"osd blocklist\"");
    return -1;
}

int blocklist_add(struct ceph_cluster *cluster, struct call *call, const struct network *network,
                  bool is_range, int seconds, struct error *err)
{
    _cleanup_free_ char *command = print_command("add", network, is_range, seconds);

    return send_change(cluster, call, command, err);
}

int blocklist_remove(struct ceph_cluster *cluster, struct call *call,
                     const struct blocklist_entry *entry, struct error *err)
{
    _cleanup_free_ char *address = entry->is_range
                                       ? xstrdup(entry->address)
                                       : print_address(entry->address, entry->network.is_v6);
    _cleanup_free_ char *command = print_change("rm", address, entry->is_range, 0);

    return send_change(cluster, call, command, err);
}
