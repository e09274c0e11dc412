#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/test.h"

/* What is written to stderr between capture_start() and capture_end(). */
struct capture {
    int saved_stderr;
    int pipe[2];
};

static struct capture capture_start(void)
{
    struct capture capture = {.saved_stderr = dup(STDERR_FILENO)};

    assert_true(capture.saved_stderr >= 0);
    assert_int_equal(pipe2(capture.pipe, O_CLOEXEC), 0);
    fcntl(capture.pipe[1], F_SETPIPE_SZ, 1 << 20);
    assert_true(dup2(capture.pipe[1], STDERR_FILENO) >= 0);
    return capture;
}

/* Caller frees. */
static char *capture_end(struct capture *capture)
{
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);
    char chunk[4096];
    ssize_t count = 0;

    assert_true(dup2(capture->saved_stderr, STDERR_FILENO) >= 0);
    close(capture->saved_stderr);
    close(capture->pipe[1]);
    while ((count = read(capture->pipe[0], chunk, sizeof(chunk))) > 0)
        text_add_bytes(&text, chunk, (size_t)count);
    close(capture->pipe[0]);
    return text_take(&text);
}

static void assert_matches(const char *text, const char *pattern)
{
    regex_t regex;

    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int outcome = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    if (outcome != 0)
        fail_msg("'%s' does not match '%s'", text, pattern);
}

#define KLOG_HEADER                                                                                \
    "[01][0-9][0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{6} +[0-9]+ "                     \
    "test_log\\.c:[0-9]+\\] "

static void restore_defaults(void)
{
    const struct log_options options = {.to_stderr = true};

    log_start(&options);
}

TEST(line_has_the_format_of_klog)
{
    struct capture capture = capture_start();

    log_info(NULL, "mapped as '%s'", "/dev/rbd0");
    _cleanup_free_ char *line = capture_end(&capture);
    assert_matches(line, "^I" KLOG_HEADER "mapped as '/dev/rbd0'\n$");
}

TEST(process_number_is_padded_to_seven)
{
    struct capture capture = capture_start();

    log_info(NULL, "x");
    _cleanup_free_ char *line = capture_end(&capture);
    _cleanup_free_ char *expected = xasprintf(" %7d test_log.c:", getpid());
    assert_non_null(strstr(line, expected));
}

TEST(severity_is_the_first_letter)
{
    struct capture capture = capture_start();

    log_warn(NULL, "w");
    log_error(NULL, "e");
    _cleanup_free_ char *lines = capture_end(&capture);
    assert_matches(lines, "^W" KLOG_HEADER "w\nE" KLOG_HEADER "e\n$");
}

TEST(call_gives_id_and_request_id)
{
    struct capture capture = capture_start();
    _cleanup_(call_done) struct call call;

    call_init(&call, 17, "CreateVolume", deadline_never());
    log_info(&call, "decoding");
    call_set_request_id(&call, "pvc-1");
    log_info(&call, "decoded");
    _cleanup_free_ char *lines = capture_end(&capture);
    assert_matches(lines, "\\] ID: 17 decoding\n.*\\] ID: 17 Req-ID: pvc-1 decoded\n$");
}

TEST(line_breaks_in_a_message_do_not_make_lines)
{
    struct capture capture = capture_start();
    _cleanup_(call_done) struct call call;

    call_init(&call, 1, "CreateVolume", deadline_never());
    call_set_request_id(&call, "pvc\nE1116 forged");
    log_info(&call, "a\nb\r\nc\n");
    _cleanup_free_ char *line = capture_end(&capture);
    assert_matches(line, "^I" KLOG_HEADER "ID: 1 Req-ID: pvc E1116 forged a b  c \n$");
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

TEST(overlong_line_is_cut_and_still_ends)
{
    struct capture capture = capture_start();
    _cleanup_free_ char *message = xasprintf("%0200000d", 1);

    log_info(NULL, "%s", message);
    log_info(NULL, "next");
    _cleanup_free_ char *lines = capture_end(&capture);
    char *end = strchr(lines, '\n');
    assert_non_null(end);
    assert_int_equal(end - lines, 64 * 1024);
    assert_matches(end + 1, "^I" KLOG_HEADER "next\n$");
}

TEST(verbosity_decides_what_is_written)
{
    const struct log_options options = {.verbosity = 3, .to_stderr = true};
    struct capture capture = capture_start();

    log_v(1, NULL, "before");
    log_start(&options);
    log_v(3, NULL, "three");
    log_v(4, NULL, "four");
    log_v(0, NULL, "zero");
    assert_true(log_is_verbose(3));
    assert_false(log_is_verbose(4));
    restore_defaults();
    _cleanup_free_ char *lines = capture_end(&capture);
    assert_matches(lines, "^I" KLOG_HEADER "three\nI" KLOG_HEADER "zero\n$");
}

static int evaluated;

static const char *evaluate(void)
{
    evaluated++;
    return "expensive";
}

TEST(suppressed_line_costs_nothing)
{
    log_v(9, NULL, "%s", evaluate());
    assert_int_equal(evaluated, 0);
}

TEST(headers_can_be_left_out)
{
    const struct log_options options = {.to_stderr = true, .without_headers = true};
    struct capture capture = capture_start();

    log_start(&options);
    log_error(NULL, "bare");
    restore_defaults();
    _cleanup_free_ char *line = capture_end(&capture);
    assert_string_equal(line, "bare\n");
}

TEST(log_file_gets_the_lines)
{
    char path[] = "/tmp/test_log.XXXXXX";
    _cleanup_close_ int fd = mkostemp(path, O_CLOEXEC);
    const struct log_options options = {.file = path};
    struct capture capture = capture_start();
    char content[256] = {0};

    assert_true(fd >= 0);
    log_start(&options);
    log_info(NULL, "to the file");
    _cleanup_free_ char *lines = capture_end(&capture);
    assert_string_equal(lines, "");
    assert_true(read(fd, content, sizeof(content) - 1) > 0);
    assert_matches(content, "^I" KLOG_HEADER "to the file\n$");
    unlink(path);
}

TEST(unusable_log_file_falls_back_to_stderr)
{
    const struct log_options options = {.file = "/nonexistent/log"};
    struct capture capture = capture_start();

    log_start(&options);
    log_info(NULL, "still here");
    restore_defaults();
    _cleanup_free_ char *lines = capture_end(&capture);
    assert_matches(lines, "^W[^\n]*cannot open log file '/nonexistent/log', logging to stderr: No "
                          "such file or directory\nI" KLOG_HEADER "still here\n$");
}

static void *log_often(void *context)
{
    for (int i = 0; i < 100; i++)
        log_info(NULL, "%s", (const char *)context);
    return NULL;
}

TEST(lines_of_several_threads_do_not_mix)
{
    static char messages[][16] = {"aaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbb", "ccccccccccccccc"};
    pthread_t threads[ARRAY_LENGTH(messages)];
    struct capture capture = capture_start();

    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_often, messages[i]), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    _cleanup_free_ char *lines = capture_end(&capture);
    assert_matches(lines, "^(I" KLOG_HEADER "(a{15}|b{15}|c{15})\n)*$");
}
