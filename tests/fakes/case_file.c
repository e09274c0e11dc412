#include "tests/fakes/case_file.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/base/memory.h"
#include "common/base/text.h"

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
    size_t room = 0;

    while (file && getline(&line, &room, file) > 0)
        add_line(cases, line);
}

int case_files_run(const char *group, const char *pattern, void (*run)(void **state))
{
    struct cases cases = {0};
    glob_t files = {0};

    if (glob(pattern, 0, NULL, &files) != 0)
        return 1;
    for (size_t i = 0; i < files.gl_pathc; i++)
        read_file(&cases, files.gl_pathv[i]);
    globfree(&files);
    struct CMUnitTest *tests = xcalloc(cases.count + 1, sizeof(*tests));
    for (size_t i = 0; i < cases.count; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases.items[i].name, .test_func = run, .initial_state = &cases.items[i]};
    int failed = _cmocka_run_group_tests(group, tests, cases.count, NULL, NULL);
    for (size_t i = 0; i < cases.count; i++) {
        free(cases.items[i].name);
        string_list_done(&cases.items[i].lines);
    }
    free(cases.items);
    free(tests);
    return failed;
}
