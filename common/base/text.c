#include "common/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    size_t free_bytes = text->limit - text->length;

    if (length == 0)
        return;
    if (length > free_bytes) {
        length = free_bytes;
        text->truncated = true;
    }
    size_t wanted = text->length + length + 1;
    if (wanted > text->capacity) {
        size_t capacity = text->capacity ? text->capacity : 64;

        while (capacity < wanted)
            capacity *= 2;
        text->chars = xreallocarray(text->chars, capacity, 1);
        text->capacity = capacity;
    }
    memcpy(text->chars + text->length, bytes, length);
    text->length += length;
    text->chars[text->length] = '\0';
}

void text_add(struct text *text, const char *chars)
{
    text_add_bytes(text, chars, strlen(chars));
}

void text_addf(struct text *text, const char *fmt, ...)
{
    _cleanup_free_ char *piece = xformat_arguments(fmt);
    text_add(text, piece);
}

int text_read_fd(struct text *text, int fd)
{
    char buffer[BUFSIZ];
    ssize_t count = 0;

    do {
        count = TEMP_FAILURE_RETRY(read(fd, buffer, sizeof(buffer)));
        if (count > 0)
            text_add_bytes(text, buffer, (size_t)count);
    } while (count > 0 && !text->truncated);
    int result = count < 0 ? -errno : 0;
    explicit_bzero(buffer, sizeof(buffer)); /* tokens and keys are files, too */
    return result;
}

int text_read_path(struct text *text, const char *path, struct error *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    int result = text_read_fd(text, fd);
    if (result < 0)
        return error_set_errno(err, result, "'%s': read", path);
    if (text->truncated)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is larger than %zu bytes", path,
                         text->limit);
    return 0;
}

int text_write_fd(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = TEMP_FAILURE_RETRY(write(fd, bytes, length));

        if (written < 0)
            return -errno;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

const char *text_chars(const struct text *text)
{
    return text->chars ? text->chars : "";
}

char *text_take(struct text *text)
{
    char *chars = text->chars ? text->chars : xstrdup("");

    *text = (struct text){.limit = text->limit};
    return chars;
}

void text_done(struct text *text)
{
    free(text->chars);
    *text = (struct text){.limit = text->limit};
}

bool text_has_prefix(const char *chars, const char *prefix)
{
    return strncmp(chars, prefix, strlen(prefix)) == 0;
}

bool text_has_suffix(const char *chars, const char *suffix)
{
    size_t length = strlen(chars);
    size_t wanted = strlen(suffix);

    return length >= wanted && strcmp(chars + length - wanted, suffix) == 0;
}

char *text_trim(char *chars)
{
    size_t length = strlen(chars);

    while (length > 0 && isspace((unsigned char)chars[length - 1]))
        chars[--length] = '\0';
    while (isspace((unsigned char)*chars))
        chars++;
    return chars;
}

bool text_is_empty(const char *chars)
{
    return !chars || chars[0] == '\0';
}

/* Length of the well-formed UTF-8 sequence at @bytes, 0 if there is none. Rejects overlong forms,
 * surrogates and values above U+10FFFF. */
static size_t utf8_sequence(const unsigned char *bytes, size_t length)
{
    unsigned char first = bytes[0];
    size_t wanted = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (wanted == 0 || first > 0xf4 || wanted > length)
        return 0;
    for (size_t i = 1; i < wanted; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && bytes[1] < 0xa0) || (first == 0xed && bytes[1] > 0x9f) ||
        (first == 0xf0 && bytes[1] < 0x90) || (first == 0xf4 && bytes[1] > 0x8f))
        return 0;
    return wanted;
}

bool text_is_utf8(const void *bytes, size_t length)
{
    const unsigned char *next = bytes;

    while (length > 0) {
        size_t step = utf8_sequence(next, length);

        if (step == 0)
            return false;
        next += step;
        length -= step;
    }
    return true;
}

int text_parse_bool(const char *chars, bool *value, struct error *err)
{
    static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"};
    static const char *const no[] = {"0", "f", "F", "FALSE", "false", "False"};

    for (size_t i = 0; i < ARRAY_LENGTH(yes); i++) {
        bool is_yes = strcmp(chars, yes[i]) == 0;

        if (is_yes || strcmp(chars, no[i]) == 0) {
            *value = is_yes;
            return 0;
        }
    }
    return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is not a boolean (true or false)", chars);
}

int text_parse_u64(const char *chars, uint64_t *value, struct error *err)
{
    char *end = NULL;

    errno = 0;
    if (chars[0] < '0' || chars[0] > '9')
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is not a whole number", chars);
    unsigned long long number = strtoull(chars, &end, 10);
    if (*end != '\0' || errno == ERANGE)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is not a whole number below 2^64",
                         chars);
    *value = number;
    return 0;
}

int text_parse_i64(const char *chars, int64_t *value, struct error *err)
{
    const char *digits = chars + (chars[0] == '-' || chars[0] == '+');
    char *end = NULL;

    errno = 0;
    long long number = strtoll(chars, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0' || errno == ERANGE)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is not a whole number", chars);
    *value = number;
    return 0;
}

/* Nanoseconds per unit named at *@chars, which moves behind it; 0 if there is no unit. */
static double duration_unit(const char **chars)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3},
                 {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},      {"h", 3600e9}};

    for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
        if (text_has_prefix(*chars, units[i].name)) {
            *chars += strlen(units[i].name);
            return units[i].ns;
        }
    }
    return 0;
}

/* Digits with an optional fraction at *@chars, which moves behind them; -1 if there are none. */
static double duration_number(const char **chars)
{
    double number = 0;
    double scale = 1;
    bool fraction = false;
    const char *next = *chars;

    for (; (*next >= '0' && *next <= '9') || (*next == '.' && !fraction); next++) {
        if (*next == '.') {
            fraction = true;
            continue;
        }
        number = number * 10 + (*next - '0');
        scale *= fraction ? 10 : 1;
    }
    if (next - *chars == (fraction ? 1 : 0))
        return -1;
    *chars = next;
    return number / scale;
}

int text_parse_duration_ms(const char *chars, int64_t *ms, struct error *err)
{
    const char *next = chars + (chars[0] == '-' || chars[0] == '+');
    double total_ns = 0;

    while (strcmp(next, "0") != 0) {
        double number = duration_number(&next);
        double unit = number < 0 ? 0 : duration_unit(&next);

        if (unit == 0)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "'%s' is not a duration (write 60s, 500ms or 1h2m3s)", chars);
        total_ns += number * unit;
        if (*next == '\0')
            break;
    }
    if (total_ns > (double)INT64_MAX) /* Go counts nanoseconds in 64 bits: 292 years */
        return error_set(err, STATUS_INVALID_ARGUMENT, "duration '%s' is too long", chars);
    int64_t rounded = (int64_t)(total_ns / 1e6 + 0.5);
    *ms = chars[0] == '-' ? -rounded : rounded;
    return 0;
}

char *text_size(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;

    if (bytes < 1024)
        return xasprintf("%" PRIu64 " B", bytes);
    while (unit + 1 < ARRAY_LENGTH(units) && bytes >> (10 * (unit + 2)))
        unit++;
    unsigned shift = 10 * (unit + 1);
    /* the bits below the unit, as tenths; EiB leave four bits above them, enough for the ten */
    uint64_t tenths = ((bytes & ((UINT64_C(1) << shift) - 1)) * 10) >> shift;
    return xasprintf("%" PRIu64 ".%" PRIu64 " %s", bytes >> shift, tenths, units[unit]);
}
