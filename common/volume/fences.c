#include "common/volume/fences.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/json.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/volume/session.h"

#define YEAR_SECONDS 31536000

/* "10.0.0.7:0/0", "[fd00::7]:0/0". Caller frees; NULL if @address is none. */
static char *entry_of(const char *address)
{
    unsigned char parsed[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, address, parsed) == 1)
        return xasprintf("%s:0/0", address);
    if (inet_pton(AF_INET6, address, parsed) == 1)
        return xasprintf("[%s]:0/0", address);
    return NULL;
}

/* The address of a whole entry, as inet_ntop() writes it; NULL if it is another entry. */
static char *address_of(const char *entry)
{
    static const char whole[] = ":0/0";
    char written[INET6_ADDRSTRLEN];
    unsigned char parsed[sizeof(struct in6_addr)];

    if (text_has_prefix(entry, "v1:") || text_has_prefix(entry, "v2:"))
        entry += 3;
    if (!text_has_suffix(entry, whole))
        return NULL;
    const bool is_six = entry[0] == '[';
    size_t length = strlen(entry) - strlen(whole);
    if (is_six && (length < 2 || entry[length - 1] != ']'))
        return NULL;
    _cleanup_free_ char *plain = is_six ? xstrndup(entry + 1, length - 2) : xstrndup(entry, length);
    int family = is_six ? AF_INET6 : AF_INET;
    if (inet_pton(family, plain, parsed) != 1 ||
        !inet_ntop(family, parsed, written, sizeof(written)))
        return NULL;
    return xstrdup(written);
}

int fences_decode(const char *reply, const char *until, struct string_list *addresses,
                  struct error *err)
{
    /* those that know ranges print a second list behind the first: not JSON as a whole */
    json_auto_t *list = json_loads(reply, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, NULL);
    size_t i = 0;
    json_t *entry = NULL;

    if (!json_is_array(list))
        return error_set(err, STATUS_INTERNAL, "osd blocklist ls: expected a list");
    json_array_foreach(list, i, entry)
    {
        const char *text = json_string_value(json_object_get(entry, "addr"));
        const char *ends = json_string_value(json_object_get(entry, "until"));
        _cleanup_free_ char *address = text && ends ? address_of(text) : NULL;

        /* times of one form compare as texts */
        if (address && strcmp(ends, until) >= 0)
            string_list_add(addresses, address);
    }
    return 0;
}

static char *in_a_year(void)
{
    time_t at = time(NULL) + YEAR_SECONDS;
    struct tm parts;

    gmtime_r(&at, &parts);
    return xasprintf("%04d-%02d-%02dT%02d:%02d", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

/* --- clusters -----------------------------------------------------------------------------------
 */

/* Runs one monitor command in a cluster. *@reply: caller frees. */
static int ask_cluster(const struct fences *fences, struct call *call, const char *cluster_id,
                       const char *command, char **reply, struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_session_ struct session session = {0};

    if (standing_credentials_get(fences->standing, call, cluster_id, NULL, &credentials, err) < 0 ||
        session_open(fences->ceph, fences->config, call, cluster_id, &credentials, &session, err) <
            0 ||
        session.cluster->ops->mon_command(session.cluster, call, command, reply, err) < 0)
        return error_wrap(err, "cluster '%s'", cluster_id);
    return 0;
}

typedef int cluster_fn(void *object, const char *reply, struct error *err);

/* Runs it in all of them; @take may be NULL. */
static int ask_all(const struct fences *fences, struct call *call, const char *command,
                   cluster_fn *take, void *object, struct error *err)
{
    _cleanup_config_ struct config *config = NULL;

    if (config_file_get(fences->config, &config, err) < 0)
        return -1;
    if (config_cluster_count(config) == 0)
        return error_set(err, STATUS_FAILED_PRECONDITION, "config.json names no cluster");
    for (size_t i = 0; i < config_cluster_count(config); i++) {
        _cleanup_free_ char *reply = NULL;

        if (ask_cluster(fences, call, config_cluster_id(config, i), command, &reply, err) < 0 ||
            (take && take(object, reply ? reply : "", err) < 0))
            return -1;
    }
    return 0;
}

struct common_addresses {
    struct string_list addresses;
    char *until;
    bool has_begun;
};

/* Keeps those that this cluster has as well. */
static int intersect(void *object, const char *reply, struct error *err)
{
    struct common_addresses *common = object;
    _cleanup_string_list_ struct string_list here = {0};
    struct string_list both = {0};

    if (fences_decode(reply, common->until, &here, err) < 0)
        return -1;
    for (size_t i = 0; i < here.count; i++)
        if (!common->has_begun || string_list_has(&common->addresses, here.items[i]))
            string_list_add(&both, here.items[i]);
    string_list_done(&common->addresses);
    common->addresses = both;
    common->has_begun = true;
    return 0;
}

int fences_read(const struct fences *fences, struct call *call, struct string_list *addresses,
                struct error *err)
{
    static const char command[] = "{\"prefix\": \"osd blocklist ls\", \"format\": \"json\"}";
    _cleanup_free_ char *until = in_a_year();
    struct common_addresses common = {.until = until};

    if (ask_all(fences, call, command, intersect, &common, err) < 0) {
        string_list_done(&common.addresses);
        return error_wrap(err, "read fences");
    }
    *addresses = common.addresses;
    return 0;
}

static int change(const struct fences *fences, struct call *call, const char *operation,
                  const char *address, struct error *err)
{
    _cleanup_free_ char *entry = entry_of(address);
    _cleanup_text_ struct text command = TEXT_INIT(512);

    if (!entry)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.64s' is no IP address", address);
    text_addf(&command, "{\"prefix\": \"osd blocklist\", \"blocklistop\": \"%s\", \"addr\": \"%s\"",
              operation, entry);
    if (strcmp(operation, "add") == 0)
        text_addf(&command, ", \"expire\": %d.0", FENCE_SECONDS);
    text_add(&command, "}");
    return ask_all(fences, call, text_chars(&command), NULL, NULL, err);
}

int fences_add(const struct fences *fences, struct call *call, const char *address,
               struct error *err)
{
    return change(fences, call, "add", address, err) < 0 ? error_wrap(err, "fence '%s'", address)
                                                         : 0;
}

int fences_remove(const struct fences *fences, struct call *call, const char *address,
                  struct error *err)
{
    return change(fences, call, "rm", address, err) < 0 ? error_wrap(err, "unfence '%s'", address)
                                                        : 0;
}
