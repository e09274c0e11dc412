#include "tests/fuzz/bytes.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"

#define DEPTH_MAX 8

uint8_t fuzz_byte(struct fuzz_bytes *bytes)
{
    if (bytes->size == 0)
        return 0;
    bytes->size--;
    return *bytes->data++;
}

size_t fuzz_below(struct fuzz_bytes *bytes, size_t limit)
{
    return fuzz_byte(bytes) % limit;
}

char *fuzz_line(struct fuzz_bytes *bytes)
{
    if (bytes->size == 0)
        return xstrdup("");
    const uint8_t *end = memchr(bytes->data, '\n', bytes->size);
    size_t length = end ? (size_t)(end - bytes->data) : bytes->size;
    char *line = xstrndup((const char *)bytes->data, length);
    bytes->data += length + (end ? 1 : 0);
    bytes->size -= length + (end ? 1 : 0);
    return line;
}

const char *fuzz_word(struct fuzz_bytes *bytes, const struct fuzz_words *words)
{
    return words->items[fuzz_below(bytes, words->count)];
}

static json_t *build(struct fuzz_bytes *bytes, const struct fuzz_words *words, int depth);

static json_t *build_object(struct fuzz_bytes *bytes, const struct fuzz_words *words, int depth)
{
    json_t *object = json_object();
    size_t count = fuzz_below(bytes, 6);

    for (size_t i = 0; i < count; i++) {
        const char *key = fuzz_word(bytes, words);

        json_object_set_new(object, key, build(bytes, words, depth + 1));
    }
    return object;
}

static json_t *build_array(struct fuzz_bytes *bytes, const struct fuzz_words *words, int depth)
{
    json_t *array = json_array();
    size_t count = fuzz_below(bytes, 6);

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, build(bytes, words, depth + 1));
    return array;
}

/* Of the input itself; "" where that is not UTF-8. */
static json_t *build_string(struct fuzz_bytes *bytes)
{
    _cleanup_free_ char *line = fuzz_line(bytes);
    json_t *string = json_string(line);

    return string ? string : json_string("");
}

static json_t *build(struct fuzz_bytes *bytes, const struct fuzz_words *words, int depth)
{
    size_t kind = fuzz_below(bytes, 10);

    if (kind < 6 && depth >= DEPTH_MAX)
        return json_null();
    if (kind < 3)
        return build_object(bytes, words, depth);
    if (kind < 6)
        return build_array(bytes, words, depth);
    if (kind < 8)
        return json_string(fuzz_word(bytes, words));
    if (kind < 9)
        return build_string(bytes);
    switch (fuzz_below(bytes, 4)) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_real(1.5);
    default:
        return json_integer((int8_t)fuzz_byte(bytes));
    }
}

json_t *fuzz_json(struct fuzz_bytes *bytes, const struct fuzz_words *words)
{
    _cleanup_error_ struct error err = {0};
    json_t *value = NULL;

    if (bytes->size > 0 && (bytes->data[0] == '{' || bytes->data[0] == '[')) {
        if (json_load_text((const char *)bytes->data, bytes->size, "input", &value, &err) < 0)
            return NULL;
        return value;
    }
    return build(bytes, words, 0);
}
