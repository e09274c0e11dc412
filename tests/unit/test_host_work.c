/* Programs that outlive the call that started them, with real programs in a real folder. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/host.h"
#include "common/linux/host_work.h"
#include "tests/must.h"

#define WAIT_MS 60000

static char folder[64];
static struct host *host;
static struct host_works *works;

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/cephzone-work-XXXXXX");
    assert_non_null(mkdtemp(folder));
    host = host_new("", "/nonexistent");
    works = host_works_new(host);
    return 0;
}

static void remove_file(const char *name)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);

    unlink(path);
}

static int remove_folder(void **state)
{
    (void)state;
    host_works_free(works);
    host_free(host);
    remove_file("gate");
    remove_file("begun");
    remove_file("told");
    assert_int_equal(rmdir(folder), 0); /* nothing of ours is left in it */
    return 0;
}

#define WORK_TEST(name) TEST(name, .setup_func = make_folder, .teardown_func = remove_folder)

static void write_file(const char *name)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
}

/* Its content; "" as long as there is none. Caller frees. */
static char *read_file(const char *name)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);
    _cleanup_text_ struct text text = TEXT_INIT(4096);
    _cleanup_error_ struct error err = {0};

    if (text_read_path(&text, path, &err) < 0)
        return xstrdup("");
    text_add(&text, "");
    return xstrdup(text_chars(&text));
}

/* The number of the program's process, when it has begun. */
static pid_t wait_for_program(void)
{
    const struct deadline until = deadline_in_ms(WAIT_MS);

    while (!deadline_has_passed(until)) {
        _cleanup_free_ char *text = read_file("begun");

        if (strchr(text, '\n'))
            return (pid_t)strtol(text, NULL, 10);
        usleep(2000);
    }
    fail_msg("the program does not begin");
    return 0;
}

/* Begins, stays as long as there is a gate, and ends with @code. */
static int run_gated(struct host_works *of, int code, int64_t patience_ms,
                     struct subprocess_result *result, struct error *err)
{
    _cleanup_free_ char *script =
        xasprintf("cd %s && echo $$ >begun && trap 'echo >told; exit 9' TERM; "
                  "while [ -e gate ]; do sleep 0.02; done; echo done; exit %d",
                  folder, code);
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const struct host_work work = {of, folder};
    struct call call;

    call_init(&call, 1, "Test", patience_ms ? deadline_in_ms(patience_ms) : deadline_never());
    int outcome = host_work_run(&work, &call, argv, "trying a gate", result, err);
    call_done(&call);
    return outcome;
}

static int wait_for_end(struct host_works *of, int64_t patience_ms, struct error *err)
{
    const struct host_work work = {of, folder};
    struct call call;

    call_init(&call, 1, "Test", patience_ms ? deadline_in_ms(patience_ms) : deadline_never());
    int outcome = host_work_wait(&work, &call, err);
    call_done(&call);
    return outcome;
}

WORK_TEST(a_program_runs_to_its_end)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    must(run_gated(works, 0, 0, &result, &err));
    assert_string_equal(text_chars(&result.output), "done\n");
    must(wait_for_end(works, 1, &err));
}

WORK_TEST(a_program_outlives_its_call_and_a_later_one_learns_its_end)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct host_work work = {works, folder};

    write_file("gate");
    must_refuse(run_gated(works, 3, 1, &result, &err), STATUS_ABORTED, "trying a gate has taken");
    const pid_t pid = wait_for_program();
    must_refuse(run_gated(works, 3, 1, &result, &err), STATUS_ABORTED, "it goes on");
    must_refuse(run_gated(works, 4, 1, &result, &err), STATUS_ABORTED, "it goes on");
    must_refuse(wait_for_end(works, 1, &err), STATUS_ABORTED, "trying a gate has taken");
    assert_true(host_work_is_running(&work));
    assert_int_equal(kill(pid, 0), 0);
    remove_file("gate");
    must(wait_for_end(works, 0, &err));
    assert_false(host_work_is_running(&work));
    remove_file("begun");
    must_refuse(run_gated(works, 3, 0, &result, &err), STATUS_INTERNAL, "status 3");
    assert_int_equal(result.exit_code, 3);
    _cleanup_free_ char *again = read_file("begun");
    assert_string_equal(again, ""); /* it was not begun a second time */
}

WORK_TEST(what_came_of_another_program_is_dropped)
{
    _cleanup_subprocess_result_ struct subprocess_result first = {0};
    _cleanup_subprocess_result_ struct subprocess_result second = {0};

    write_file("gate");
    must_refuse(run_gated(works, 3, 1, &first, &err), STATUS_ABORTED, "");
    wait_for_program();
    remove_file("gate");
    must(run_gated(works, 0, 0, &second, &err));
    assert_int_equal(second.exit_code, 0);
}

WORK_TEST(what_came_of_a_program_can_be_forgotten)
{
    const struct host_work work = {works, folder};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    write_file("gate");
    must_refuse(run_gated(works, 0, 1, &result, &err), STATUS_ABORTED, "");
    wait_for_program();
    host_work_forget(&work);
    assert_true(host_work_is_running(&work)); /* not while it runs */
    remove_file("gate");
    must(wait_for_end(works, 0, &err));
    host_work_forget(&work);
    remove_file("begun");
    must(run_gated(works, 0, 0, &result, &err));
    wait_for_program();
}

WORK_TEST(another_process_does_not_begin_beside_it)
{
    struct host_works *other = host_works_new(host);
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    write_file("gate");
    must_refuse(run_gated(works, 0, 1, &result, &err), STATUS_ABORTED, "");
    must_refuse(run_gated(other, 0, 1, &result, &err), STATUS_ABORTED, "another run");
    must_refuse(wait_for_end(other, 1, &err), STATUS_ABORTED, "another run");
    remove_file("gate");
    must(wait_for_end(other, 0, &err));
    must(run_gated(other, 0, 0, &result, &err));
    host_works_free(other);
}

/* This process is the driver that comes after it. */
WORK_TEST(a_program_whose_driver_was_killed_is_noticed)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    write_file("gate");
    const pid_t driver = fork();
    assert_true(driver >= 0);
    if (driver == 0) {
        struct error err = {0};

        run_gated(works, 0, 1, &result, &err);
        wait_for_program();
        raise(SIGKILL);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(driver, &status, 0), driver);
    assert_true(WIFSIGNALED(status));
    const pid_t program = wait_for_program();
    assert_int_equal(kill(program, 0), 0);
    must_refuse(run_gated(works, 0, 1, &result, &err), STATUS_ABORTED, "another run");
    must_refuse(wait_for_end(works, 1, &err), STATUS_ABORTED, "another run");
    assert_int_equal(kill(program, SIGKILL), 0);
    must(wait_for_end(works, 0, &err));
    remove_file("gate");
    must(run_gated(works, 0, 0, &result, &err));
}

WORK_TEST(a_driver_that_ends_tells_its_programs_to_end)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    write_file("gate");
    must_refuse(run_gated(works, 0, 1, &result, &err), STATUS_ABORTED, "");
    const pid_t program = wait_for_program();
    host_works_free(works);
    works = host_works_new(host);
    assert_int_equal(kill(program, 0), -1);
    _cleanup_free_ char *told = read_file("told");
    assert_string_equal(told, "\n");
    must(wait_for_end(works, 1, &err));
}

WORK_TEST(another_folder_learns_that_its_device_is_worked_on)
{
    const char *const argv[] = {"/bin/sleep", "1000", NULL};
    const struct host_work one = {works, folder};
    const struct host_work other = {works, "/nonexistent/folder"};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(1));
    must_refuse(host_work_run(&one, &call, argv, "sleeping", &result, &err), STATUS_ABORTED, "");
    must_refuse(host_work_check_device(&other, "1000", &err), STATUS_ABORTED, "sleeping has taken");
    must(host_work_check_device(&one, "1000", &err));
    must(host_work_check_device(&other, "1001", &err));
    call_done(&call);
}

WORK_TEST(a_folder_that_has_gone_has_no_program)
{
    const struct host_work work = {works, "/nonexistent/folder"};
    struct call call;

    call_init(&call, 1, "Test", deadline_never());
    must(host_work_wait(&work, &call, &err));
    call_done(&call);
}
