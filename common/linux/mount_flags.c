#include "common/linux/mount_flags.h"

#include <libmount/libmount.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/mount_labels.h"

#define FLAGS_ALLOWED                                                                              \
    (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_SYNCHRONOUS | MS_DIRSYNC | MS_NOATIME |     \
     MS_NODIRATIME | MS_RELATIME | MS_STRICTATIME | MS_LAZYTIME | MS_SILENT | MS_NOSYMFOLLOW)

enum mount_flag mount_flag_parse(const char *option, unsigned long *flags)
{
    const struct libmnt_optmap *map = mnt_get_builtin_optmap(MNT_LINUX_MAP);
    unsigned long set = 0;
    unsigned long kept = ~0UL; /* all but those that it takes back, as rw does with ro */

    if (mnt_optstr_get_flags(option, &set, map) < 0 ||
        mnt_optstr_get_flags(option, &kept, map) < 0 || set & ~(unsigned long)FLAGS_ALLOWED ||
        strcmp(option, "move") == 0)
        return MOUNT_FLAG_REFUSED;
    *flags = (*flags | set) & kept;
    if (set || kept != ~0UL || strcmp(option, "defaults") == 0 || strcmp(option, "_netdev") == 0)
        return MOUNT_FLAG_OF_MOUNT;
    return MOUNT_FLAG_OF_FILE_SYSTEM;
}

bool mount_flags_are_read_only(const struct string_list *flags)
{
    unsigned long found = 0;

    for (size_t i = 0; i < flags->count; i++)
        mount_flag_parse(flags->items[i], &found);
    return found & MS_RDONLY;
}

/* Of a quoted label at the start of @text, with its quotes and what follows up to a comma; 0: there
 * is none. */
static size_t quoted_length(const char *text)
{
    const size_t name = mount_label_name(text);

    if (name == 0 || text[name] != '"')
        return 0;
    size_t length = name + 1 + strcspn(text + name + 1, "\"");
    return text[length] == '"' ? length + strcspn(text + length, ",") : 0;
}

bool mount_flag_is_single(const char *option)
{
    const size_t quoted = quoted_length(option);
    const char *value = option + mount_label_name(option);

    if (quoted == 0)
        return option[0] && !strchr(option, ',');
    /* a quote is at both ends and nowhere else; the kernel takes a backslash for itself */
    return option[quoted] == '\0' && strchr(value + 1, '"') == option + quoted - 1 &&
           !strchr(value, '\\');
}

void mount_flags_split(const char *text, struct string_list *flags)
{
    for (const char *next = text; *next; next += *next == ',') {
        next += strspn(next, " \t");
        const size_t quoted = quoted_length(next);
        const size_t length = quoted ? quoted : strcspn(next, ",");
        _cleanup_free_ char *option = xstrndup(next, length);

        if (text_trim(option)[0])
            string_list_add(flags, text_trim(option));
        next += length;
    }
}

int mount_flag_refuse(const char *option, struct error *err)
{
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "mount flag '%s' is not one that a volume can have", option);
}
