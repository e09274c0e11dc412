#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"

/*
 * A text that grows up to a limit. Beyond the limit nothing more is added and @truncated is set, so
 * that what a peer or a program sends can never take more memory than its reader meant to give.
 */
struct text {
    char *chars; /* NUL-terminated; NULL while empty */
    size_t length;
    size_t capacity;
    size_t limit;
    bool truncated;
};

#define TEXT_INIT(limit_bytes)                                                                     \
    {                                                                                              \
        .limit = (limit_bytes)                                                                     \
    }

void text_add(struct text *text, const char *chars);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
_printf_(2, 3) void text_addf(struct text *text, const char *fmt, ...);
/* Adds what can be read from @fd, up to the limit. 0 or a negative errno. */
int text_read_fd(struct text *text, int fd);
/* Adds the whole file. Fails with the error number's status when it cannot be read, with
 * INVALID_ARGUMENT when it is larger than the limit. */
_must_check_ int text_read_path(struct text *text, const char *path, struct error *err);
/* The characters so far, "" when empty. Borrowed. */
const char *text_chars(const struct text *text);
/* Hands the characters over and leaves the text empty. Caller frees. */
char *text_take(struct text *text);
void text_done(struct text *text);

#define _cleanup_text_ _cleanup_(text_done)

/* Writes all of @bytes. 0 or a negative errno. */
int text_write_fd(int fd, const char *bytes, size_t length);

bool text_has_prefix(const char *chars, const char *prefix);
bool text_has_suffix(const char *chars, const char *suffix);
/* Removes white space at both ends, in place. */
char *text_trim(char *chars);
/* NULL counts as empty. */
bool text_is_empty(const char *chars);
bool text_is_utf8(const void *bytes, size_t length);

/* Go's strconv.ParseBool: 1 t T TRUE true True 0 f F FALSE false False. */
_must_check_ int text_parse_bool(const char *chars, bool *value, struct error *err);
/* Decimal digits only: no sign, no space, no overflow. */
_must_check_ int text_parse_u64(const char *chars, uint64_t *value, struct error *err);
/* Optional sign, decimal digits. (Go's flags also take 0x10 and 010; nobody deploys these.) */
_must_check_ int text_parse_i64(const char *chars, int64_t *value, struct error *err);
/* Go's time.ParseDuration ("60s", "500ms", "1h2m3s", "-1.5h"), rounded to milliseconds; a bare
 * number other than 0 is an error. */
_must_check_ int text_parse_duration_ms(const char *chars, int64_t *ms, struct error *err);

/* "0 B", "1023 B", "1.0 KiB", ... up to EiB, rounded down to one decimal: never more than there
 * is. Caller frees. */
char *text_size(uint64_t bytes);
