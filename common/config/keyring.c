#include "common/config/keyring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

/* True when a user and its key are complete. */
static bool parse_line(char *line, struct credentials *credentials)
{
    static const char section[] = "[client.";
    size_t length = strlen(line);
    char *equals = strchr(line, '=');

    if (text_has_prefix(line, section) && line[length - 1] == ']') {
        free(credentials->user);
        credentials->user =
            xstrndup(line + strlen(section), length - strlen(section) - strlen("]"));
        return false;
    }
    if (!credentials->user || !equals)
        return false;
    *equals = '\0';
    if (strcmp(text_trim(line), "key") != 0)
        return false;
    secret_set(&credentials->key, text_trim(equals + 1));
    return secret_is_set(&credentials->key);
}

int keyring_read(const char *path, struct credentials *credentials, bool *found, struct error *err)
{
    _cleanup_credentials_ struct credentials read = {0};
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char line[512]; /* far more than a line of a keyring has */
    bool complete = false;

    *found = false;
    if (!file)
        return errno == ENOENT ? 0 : error_set_errno(err, -errno, "read keyring '%s'", path);
    while (!complete && fgets(line, sizeof(line), file))
        complete = parse_line(text_trim(line), &read);
    explicit_bzero(line, sizeof(line));
    if (!complete)
        return 0;
    *credentials = read;
    read = (struct credentials){0};
    *found = true;
    return 0;
}
