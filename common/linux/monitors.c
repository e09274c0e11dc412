#include "common/linux/monitors.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

#define LIST_LIMIT ((size_t)16 * 1024)
#define PORT_V1 "6789"
#define PORT_V2 "3300"

/* One address of mon_host: "10.0.0.1", "10.0.0.1:6789", "v2:10.0.0.1:3300/0". */
static void add_monitor(struct text *addresses, const char *address, bool wants_v2, bool *is_v2)
{
    bool says_v2 = text_has_prefix(address, "v2:");
    const char *plain = says_v2 || text_has_prefix(address, "v1:") ? address + 3 : address;
    size_t length = strcspn(plain, "/");
    const char *colon = plain[0] == '[' ? strstr(plain, "]:") : strchr(plain, ':');
    bool has_port = colon && colon < plain + length;

    *is_v2 =
        says_v2 || (has_port && text_has_suffix(plain, ":" PORT_V2)) || (!has_port && wants_v2);
    text_addf(addresses, "%s%.*s", addresses->length ? "," : "", (int)length, plain);
    if (!has_port)
        text_addf(addresses, ":%s", *is_v2 ? PORT_V2 : PORT_V1);
}

void kernel_monitors(const char *monitors, const char *options, struct text *addresses,
                     bool *needs_ms_mode)
{
    const char *mode = strstr(options, "ms_mode=");
    bool wants_v2 = mode && !text_has_prefix(mode, "ms_mode=legacy");
    _cleanup_text_ struct text v1 = TEXT_INIT(LIST_LIMIT);
    _cleanup_text_ struct text v2 = TEXT_INIT(LIST_LIMIT);
    _cleanup_free_ char *list = xstrdup(monitors);
    char *rest = NULL;

    for (char *part = strtok_r(list, ",; ", &rest); part; part = strtok_r(NULL, ",; ", &rest)) {
        _cleanup_text_ struct text one = TEXT_INIT(LIST_LIMIT);
        bool is_v2 = false;
        char *bare = part[0] == '[' && part[1] == 'v' ? part + 1 : part;
        size_t length = strlen(bare);

        if (length > 0 && bare[length - 1] == ']' && !strchr(bare, '['))
            bare[length - 1] = '\0'; /* of "[v2:...,v1:...]" */
        add_monitor(&one, bare, wants_v2, &is_v2);
        struct text *to = is_v2 ? &v2 : &v1;
        text_addf(to, "%s%s", to->length ? "," : "", text_chars(&one));
    }
    bool use_v2 = wants_v2 ? v2.length > 0 : v1.length == 0;
    text_add(addresses, text_chars(use_v2 ? &v2 : &v1));
    *needs_ms_mode = use_v2 && !mode;
}
