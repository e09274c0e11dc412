#include "tests/fakes/case_file.h"

#include <glob.h>

#include "common/base/cleanup.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/test.h"

struct cases {
    struct case_lines *items;
    size_t count;
};

char *case_next_word(const char **line)
{
    *line += strspn(*line, " ");
    size_t length = strcspn(*line, " ");
    char *word = xstrndup(*line, length);

    *line += length;
    *line += strspn(*line, " ");
    return word;
}

static _Noreturn void refuse(const char *line, const char *why)
{
    fprintf(stderr, "%s: %s\n", why, line);
    abort();
}

static void add_line(struct cases *cases, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    line += strspn(line, " ");
    if (line[0] == '\0' || line[0] == '#')
        return;
    if (text_has_prefix(line, "== ")) {
        if (!strstr(line, " | "))
            refuse(line, "no rule");
        cases->items = xreallocarray(cases->items, cases->count + 1, sizeof(*cases->items));
        cases->items[cases->count++] = (struct case_lines){.name = xstrdup(line + 3)};
        return;
    }
    if (cases->count == 0)
        refuse(line, "a line before the first case");
    string_list_add(&cases->items[cases->count - 1].lines, line);
}

static void read_file(struct cases *cases, const char *path)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    _cleanup_free_ char *line = NULL;
    size_t before = cases->count;
    size_t room = 0;

    if (!file)
        refuse(path, "cannot be opened");
    while (getline(&line, &room, file) > 0)
        add_line(cases, line);
    if (ferror(file))
        refuse(path, "cannot be read");
    if (cases->count == before)
        refuse(path, "no case in it");
}

static struct cases all;

static void free_cases(void)
{
    for (size_t i = 0; i < all.count; i++) {
        free(all.items[i].name);
        string_list_done(&all.items[i].lines);
    }
    free(all.items);
}

void case_files_add(const char *pattern, void (*run)(void **state))
{
    glob_t files = {0};

    if (glob(pattern, 0, NULL, &files) != 0)
        refuse(pattern, "no file of this name");
    atexit(free_cases);
    for (size_t i = 0; i < files.gl_pathc; i++)
        read_file(&all, files.gl_pathv[i]);
    globfree(&files);
    for (size_t i = 0; i < all.count; i++)
        test_add((struct CMUnitTest){
            .name = all.items[i].name, .test_func = run, .initial_state = &all.items[i]});
}
