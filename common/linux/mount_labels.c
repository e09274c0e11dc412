#include "common/linux/mount_labels.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/mount_flags.h"

#define CATEGORIES 1024
#define WORD_BITS 64

size_t mount_label_name(const char *option)
{
    static const char *const names[] = {"context=", "fscontext=", "defcontext=", "rootcontext="};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (text_has_prefix(option, names[i]))
            return strlen(names[i]);
    return 0;
}

/* --- comparing --- */

/* "s0" or "s0:c1,c5.c9". */
struct level {
    char *sensitivity;
    uint64_t categories[CATEGORIES / WORD_BITS];
};

static void level_done(struct level *level)
{
    free(level->sensitivity);
}

static bool parse_category(const char **next, unsigned long *number)
{
    char *end = NULL;

    if (**next != 'c' || (*next)[1] < '0' || (*next)[1] > '9')
        return false;
    *number = strtoul(*next + 1, &end, 10);
    *next = end;
    return *number < CATEGORIES;
}

/* False if @text is nothing of the kind. */
static bool parse_level(const char *text, struct level *level)
{
    const size_t length = strcspn(text, ":");
    const char *next = text + length;

    level->sensitivity = xstrndup(text, length);
    while (*next == ':' || *next == ',') {
        unsigned long first = 0;
        unsigned long last = 0;

        next++;
        if (!parse_category(&next, &first))
            return false;
        last = first;
        if (*next == '.' && (next++, !parse_category(&next, &last)))
            return false;
        for (unsigned long i = first; i <= last; i++)
            level->categories[i / WORD_BITS] |= UINT64_C(1) << (i % WORD_BITS);
    }
    return *next == '\0';
}

static bool level_is_same(const char *a, const char *b)
{
    _cleanup_(level_done) struct level one = {0};
    _cleanup_(level_done) struct level other = {0};

    if (!parse_level(a, &one) || !parse_level(b, &other))
        return strcmp(a, b) == 0;
    return strcmp(one.sensitivity, other.sensitivity) == 0 &&
           memcmp(one.categories, other.categories, sizeof(one.categories)) == 0;
}

/* The highest level of a range, "s0-s0:c0.c1023", whose lowest is cut off; that of a single level
 * is itself. */
static const char *cut_range(char *range)
{
    char *dash = strchr(range, '-');

    if (!dash)
        return range;
    *dash = '\0';
    return dash + 1;
}

/* The value without its quotes. Caller frees. */
static char *bare_value(const char *option)
{
    const char *value = option + mount_label_name(option);
    size_t length = strlen(value);

    return length > 1 && value[0] == '"' && value[length - 1] == '"'
               ? xstrndup(value + 1, length - 2)
               : xstrdup(value);
}

/* Behind user, role and type; NULL: there is no level. */
static char *find_level(char *label)
{
    char *colon = label - 1;

    for (int i = 0; i < 3 && colon; i++)
        colon = strchr(colon + 1, ':');
    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

bool mount_label_is_same(const char *a, const char *b)
{
    const size_t length = mount_label_name(a);
    _cleanup_free_ char *one = bare_value(a);
    _cleanup_free_ char *other = bare_value(b);

    if (mount_label_name(b) != length || strncmp(a, b, length) != 0)
        return false;
    char *range = find_level(one);
    char *other_range = find_level(other);
    if (strcmp(one, other) != 0 || !range || !other_range)
        return strcmp(one, other) == 0 && !range == !other_range;
    const char *highest = cut_range(range);
    const char *other_highest = cut_range(other_range);
    return level_is_same(range, other_range) && level_is_same(highest, other_highest);
}

/* --- on a machine --- */

bool mount_labels_are_among(const struct string_list *options)
{
    for (size_t i = 0; i < options->count; i++)
        if (mount_label_name(options->items[i]))
            return true;
    return false;
}

/* The kernel has its file system if, and only if, SELinux is on. */
static int find_selinux(struct host *host, bool *is_on, struct error *err)
{
    _cleanup_free_ char *known = NULL;

    if (host->ops->read_text(host, "/proc/filesystems", &known, err) < 0)
        return -1;
    *is_on = known && strstr(known, "\tselinuxfs\n");
    return 0;
}

int mount_labels_filter(struct host *host, const struct string_list *from, struct string_list *to,
                        struct error *err)
{
    bool is_on = false;

    if (mount_labels_are_among(from) && find_selinux(host, &is_on, err) < 0)
        return -1;
    for (size_t i = 0; i < from->count; i++)
        if (is_on || !mount_label_name(from->items[i]))
            string_list_add(to, from->items[i]);
    return 0;
}

static const char *find_same_name(const struct string_list *options, const char *option)
{
    const size_t length = mount_label_name(option);

    for (size_t i = 0; i < options->count; i++)
        if (strncmp(options->items[i], option, length) == 0)
            return options->items[i];
    return NULL;
}

int mount_labels_check(struct host *host, const char *options, const struct string_list *asked,
                       enum status status, struct error *err)
{
    _cleanup_string_list_ struct string_list labels = {0};
    _cleanup_string_list_ struct string_list present = {0};

    if (mount_labels_filter(host, asked, &labels, err) < 0)
        return -1;
    mount_flags_split(options, &present);
    for (size_t i = 0; i < labels.count; i++) {
        const char *label = labels.items[i];
        const char *found = find_same_name(&present, label);

        if (!mount_label_name(label) || (found && mount_label_is_same(found, label)))
            continue;
        error_set(err, status,
                  "it is mounted with %s, but %s was asked for: all mounts of a volume on a node "
                  "have one SELinux label",
                  found ? found : "no such option", label);
        return error_hint(err, "give all pods that use it on this node the same "
                               "seLinuxOptions.level, or seLinuxChangePolicy: Recursive");
    }
    return 0;
}
