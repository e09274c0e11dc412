#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/base/memory.h"
#include "tests/fuzz/bytes.h"
#include "tests/test.h"

/*
 * Runs the target that it is linked with, fuzz_NAME, over all of tests/data/fuzz/NAME: what was
 * found once stays found, with every compiler and in every run of the unit tests.
 */
#define INPUT_MAX ((size_t)1024 * 1024)

static void replay(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status = {0};

    if (fd < 0 || fstat(fd, &status) < 0)
        fail_msg("%s: error %d", path, errno);
    assert_true((size_t)status.st_size <= INPUT_MAX);
    /* of exactly its size, so that a read beyond the end is seen */
    _cleanup_free_ uint8_t *input = xmalloc((size_t)status.st_size + (status.st_size == 0));
    assert_int_equal(read(fd, input, (size_t)status.st_size), status.st_size);
    LLVMFuzzerTestOneInput(input, (size_t)status.st_size);
}

TEST(corpus_is_survived)
{
    const char *name = strchr(program_invocation_short_name, '_');
    _cleanup_free_ char *folder = xasprintf("tests/data/fuzz/%s", name ? name + 1 : "");
    DIR *entries = opendir(folder);
    size_t count = 0;

    if (!entries) {
        fail_msg("%s: there are no seeds", folder);
        return;
    }
    for (const struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        _cleanup_free_ char *path = xasprintf("%s/%s", folder, entry->d_name);

        if (entry->d_name[0] == '.')
            continue;
        replay(path);
        count++;
    }
    closedir(entries);
    LLVMFuzzerTestOneInput(NULL, 0); /* libFuzzer starts with nothing */
    assert_true(count > 0);
    printf("figure: fuzz %s: %zu inputs replayed\n", name + 1, count);
}
