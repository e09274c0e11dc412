#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the fuzz targets share: an input is bytes, and these take values off its front. When it is
 * used up they give zeros and "", so that every input means something. One thread.
 *
 * A target is tests/fuzz/fuzz_NAME.c with LLVMFuzzerTestOneInput(); it checks what must hold with
 * assert(). Its seeds are in tests/data/fuzz/NAME/.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
};

uint8_t fuzz_byte(struct fuzz_bytes *bytes);
/* A number below @limit, which is at most 256. */
size_t fuzz_below(struct fuzz_bytes *bytes, size_t limit);
/* All bytes up to the next line feed, or to the end; a NUL ends it as well. Caller frees. */
char *fuzz_line(struct fuzz_bytes *bytes);
/* One of the words. */
struct fuzz_words {
    const char *const *items;
    size_t count;
};
const char *fuzz_word(struct fuzz_bytes *bytes, const struct fuzz_words *words);

/*
 * Any JSON value. An input that starts with '{' or '[' is read as text and NULL if malformed; from
 * any other a value is built, with keys and strings from @words, so that mutations reach beyond the
 * parser. Caller frees with json_decref().
 */
json_t *fuzz_json(struct fuzz_bytes *bytes, const struct fuzz_words *words);
