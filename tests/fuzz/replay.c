#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "tests/fuzz/bytes.h"

/*
 * Runs the target that it is linked with, fuzz_NAME, over all of tests/data/fuzz/NAME: what was
 * found once stays found, with every compiler and in every run of the unit tests.
 */
#define INPUT_MAX ((size_t)1024 * 1024)

static void replay(const char *path)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    _cleanup_free_ uint8_t *data = xmalloc(INPUT_MAX);

    if (!file)
        fail_msg("%s: error %d", path, errno);
    size_t size = fread(data, 1, INPUT_MAX, file);
    uint8_t *exact = xmalloc(size ? size : 1); /* so that a read beyond the end is seen */
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void corpus_is_survived(void **state)
{
    const char *name = strchr(program_invocation_short_name, '_');
    _cleanup_free_ char *folder = xasprintf("tests/data/fuzz/%s", name ? name + 1 : "");
    DIR *entries = opendir(folder);
    size_t count = 0;

    (void)state;
    if (!entries)
        fail_msg("%s: there are no seeds", folder);
    for (const struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        _cleanup_free_ char *path = xasprintf("%s/%s", folder, entry->d_name);

        if (entry->d_name[0] == '.')
            continue;
        replay(path);
        count++;
    }
    closedir(entries);
    assert_true(count > 0);
    printf("figure: fuzz %s: %zu inputs replayed\n", name + 1, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus_is_survived)};

    LLVMFuzzerTestOneInput(NULL, 0); /* libFuzzer starts with nothing */
    return cmocka_run_group_tests_name("fuzz corpus", tests, NULL, NULL);
}
