#include "controller/names.h"

#include <stdbool.h>
#include <string.h>

#define NAME_MAX_BYTES 128

int request_name_check(const char *name, struct error *err)
{
    if (name[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "name is missing");
    if (strlen(name) > NAME_MAX_BYTES)
        return error_set(err, STATUS_INVALID_ARGUMENT, "name has %zu bytes, more than %d",
                         strlen(name), NAME_MAX_BYTES);
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        bool control = *c < 0x20 && *c != '\t' && *c != '\n' && *c != '\r';

        /* U+0080 to U+009F are C2 80 to C2 9F in UTF-8 */
        if (control || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "name has a control character at byte %td",
                             c - (const unsigned char *)name);
    }
    return 0;
}
