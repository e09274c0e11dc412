#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/uuid.h"
#include "tests/fakes/fake_ceph_state.h"

/*
 * Gives random words (uuids, image ids) numbers that do not depend on their values. Sorting by
 * value first and numbering then would not do: of two volumes now the one, now the other has the
 * smaller uuid.
 *
 * Rounds: each line is written with the numbers known so far and "u?" or "i?" for the other words.
 * A line that differs from all others in this form can be recognised in every run, so its words get
 * numbers, in the order of these forms. That makes further lines distinct in the next round: the
 * directory names a uuid by its request name, the uuid its image, the image its id. Only when all
 * open lines are ambiguous is one of them taken by value; then nothing tells them apart, or they
 * differ so far away that tests do not build it.
 */

#define LINE_LIMIT ((size_t)1 << 20)

struct word {
    char kind; /* 'u' or 'i' */
    char *chars;
    unsigned number; /* 0: none yet */
};

struct words {
    struct word *items;
    size_t count;
    unsigned uuids_numbered;
    unsigned ids_numbered;
};

struct masked_line {
    const char *line;
    char *form;
    bool is_open; /* has words without a number */
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void fake_lines_sort(struct string_list *lines)
{
    if (lines->count > 1)
        qsort(lines->items, lines->count, sizeof(*lines->items), compare_texts);
}

/* --- words --- */

static bool is_uuid(const char *at)
{
    struct uuid_text candidate = {0};

    if (strnlen(at, UUID_LENGTH) < UUID_LENGTH)
        return false;
    memcpy(candidate.chars, at, UUID_LENGTH);
    return uuid_text_is_valid(candidate.chars);
}

static bool is_image_id(const char *line, const char *at)
{
    if (!text_has_prefix(at, FAKE_IMAGE_ID_PREFIX))
        return false;
    if (at > line && isalnum((unsigned char)at[-1]))
        return false;
    return strspn(at, "0123456789abcdef") == FAKE_IMAGE_ID_LENGTH &&
           !isalnum((unsigned char)at[FAKE_IMAGE_ID_LENGTH]);
}

/* Length of the random word that begins at @at, 0 if there is none; *@kind is 'u' or 'i'. */
static size_t word_length(const char *line, const char *at, char *kind)
{
    if (is_uuid(at)) {
        *kind = 'u';
        return UUID_LENGTH;
    }
    if (is_image_id(line, at)) {
        *kind = 'i';
        return FAKE_IMAGE_ID_LENGTH;
    }
    return 0;
}

/* Valid until the next call. */
static struct word *intern(struct words *words, char kind, const char *chars, size_t length)
{
    for (size_t i = 0; i < words->count; i++)
        if (words->items[i].kind == kind && strncmp(words->items[i].chars, chars, length) == 0)
            return &words->items[i];
    words->items = xreallocarray(words->items, words->count + 1, sizeof(*words->items));
    words->items[words->count] = (struct word){.kind = kind, .chars = xstrndup(chars, length)};
    return &words->items[words->count++];
}

static void words_done(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i].chars);
    free(words->items);
}

/* --- lines --- */

/* The line with its words replaced by what is known of them. Caller frees. */
static char *mask_line(struct words *words, const char *line, bool *is_open)
{
    _cleanup_text_ struct text form = TEXT_INIT(LINE_LIMIT);
    const char *next = line;

    *is_open = false;
    while (*next != '\0') {
        char kind = '\0';
        size_t length = word_length(line, next, &kind);
        const struct word *word = length > 0 ? intern(words, kind, next, length) : NULL;

        if (!word)
            text_add_bytes(&form, next, 1);
        else if (word->number > 0)
            text_addf(&form, "%c%u", kind, word->number);
        else
            text_addf(&form, "%c?", kind);
        *is_open |= word && word->number == 0;
        next += word ? length : 1;
    }
    return text_take(&form);
}

static void number_words(struct words *words, const char *line)
{
    const char *next = line;

    while (*next != '\0') {
        char kind = '\0';
        size_t length = word_length(line, next, &kind);

        if (length > 0) {
            struct word *word = intern(words, kind, next, length);

            if (word->number == 0)
                word->number = kind == 'u' ? ++words->uuids_numbered : ++words->ids_numbered;
        }
        next += length > 0 ? length : 1;
    }
}

static int compare_forms(const void *a, const void *b)
{
    return strcmp(((const struct masked_line *)a)->form, ((const struct masked_line *)b)->form);
}

/* Numbers the words of all open lines whose form is unique, else those of the first open line.
 * False when no line is open. */
static bool number_recognisable(struct words *words, const struct masked_line *masked, size_t count)
{
    const struct masked_line *ambiguous = NULL;
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        bool is_unique = (i == 0 || compare_forms(&masked[i - 1], &masked[i]) != 0) &&
                         (i + 1 == count || compare_forms(&masked[i + 1], &masked[i]) != 0);

        if (!masked[i].is_open)
            continue;
        if (is_unique) {
            number_words(words, masked[i].line);
            found = true;
        } else if (!ambiguous) {
            ambiguous = &masked[i];
        }
    }
    if (!found && ambiguous)
        number_words(words, ambiguous->line);
    return found || ambiguous;
}

static bool number_one_round(struct words *words, const struct string_list *lines)
{
    struct masked_line *masked = xcalloc(lines->count, sizeof(*masked));

    for (size_t i = 0; i < lines->count; i++) {
        masked[i].line = lines->items[i];
        masked[i].form = mask_line(words, lines->items[i], &masked[i].is_open);
    }
    qsort(masked, lines->count, sizeof(*masked), compare_forms);
    bool numbered = number_recognisable(words, masked, lines->count);
    for (size_t i = 0; i < lines->count; i++)
        free(masked[i].form);
    free(masked);
    return numbered;
}

void fake_lines_normalise(struct string_list *lines)
{
    _cleanup_(words_done) struct words words = {0};

    if (lines->count == 0)
        return;
    while (number_one_round(&words, lines))
        continue;
    for (size_t i = 0; i < lines->count; i++) {
        bool is_open = false;
        char *form = mask_line(&words, lines->items[i], &is_open);

        assert(!is_open);
        free(lines->items[i]);
        lines->items[i] = form;
    }
    fake_lines_sort(lines);
}
