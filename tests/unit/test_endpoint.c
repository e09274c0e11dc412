#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/endpoint.h"
#include "tests/test.h"

TEST(endpoints_are_read_in_all_their_forms)
{
    static const struct {
        const char *endpoint;
        const char *path; /* NULL: refused */
    } cases[] = {
        {"unix:///csi/csi.sock", "/csi/csi.sock"},
        {"unix://csi/csi.sock", "/csi/csi.sock"},
        {"unix:/csi/csi.sock", "/csi/csi.sock"},
        {"/csi/csi.sock", "/csi/csi.sock"},
        {"/csi.sock", "/csi.sock"},
        {"unix:///a b/%.sock", "/a b/%.sock"},
        {"csi.sock", NULL},
        {"unix:csi.sock", NULL},
        {"unix:", NULL},
        {"unix://", NULL},
        {"unix:///", NULL},
        {"", NULL},
        {"/csi/", NULL},
        {"tcp://127.0.0.1:10000", NULL},
        {"dns:///localhost", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *path = NULL;
        int result = endpoint_parse(cases[i].endpoint, &path, &err);

        assert_int_equal(result, cases[i].path ? 0 : -1);
        if (cases[i].path)
            assert_string_equal(path, cases[i].path);
        else
            assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    }
}

TEST(tcp_is_refused_with_a_reason)
{
    _cleanup_error_ struct error err = {0};
    char *path = NULL;

    assert_int_equal(endpoint_parse("tcp://0.0.0.0:1", &path, &err), -1);
    assert_non_null(strstr(err.message, "unix sockets only"));
}

/* The longest name that can be bound has 107 bytes, the temporary one included. */
TEST(path_must_fit_into_an_address)
{
    static const struct {
        int folder;
        int name;
        bool fits;
    } cases[] = {{10, 96, true}, {10, 97, false}, {93, 5, true}, {94, 5, false}, {93, 13, true}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *endpoint =
            xasprintf("/%0*d/%0*d", cases[i].folder - 1, 1, cases[i].name, 1);
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *path = NULL;

        assert_int_equal(endpoint_parse(endpoint, &path, &err), cases[i].fits ? 0 : -1);
    }
}

TEST(target_is_a_uri)
{
    _cleanup_free_ char *plain = endpoint_target("/csi/csi-1_x.sock");
    _cleanup_free_ char *odd = endpoint_target("/a b/50%#?.sock");

    assert_string_equal(plain, "unix:/csi/csi-1_x.sock");
    assert_string_equal(odd, "unix:/a%20b/50%25%23%3F.sock");
}

static char folder[] = "/tmp/test-endpoint-XXXXXX";

/* The socket's descriptor; listening goes on until it is closed. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

TEST(stale_socket_is_replaced)
{
    _cleanup_free_ char *path = xasprintf("%s/csi.sock", folder);
    _cleanup_(endpoint_done) struct endpoint_socket socket = {0};
    _cleanup_error_ struct error err = {0};

    close(listen_at(path));
    assert_int_equal(endpoint_prepare(&socket, path, &err), 0);
    int fd = listen_at(socket.temporary);
    assert_int_equal(endpoint_publish(&socket, &err), 0);
    assert_int_equal(access(socket.temporary, F_OK), -1);
    assert_int_equal(access(path, W_OK), 0);
    endpoint_withdraw(&socket);
    assert_int_equal(access(path, F_OK), -1);
    close(fd);
}

TEST(socket_of_another_is_left_alone)
{
    _cleanup_free_ char *path = xasprintf("%s/csi.sock", folder);
    _cleanup_(endpoint_done) struct endpoint_socket first = {0};
    _cleanup_(endpoint_done) struct endpoint_socket second = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(endpoint_prepare(&first, path, &err), 0);
    int first_fd = listen_at(first.temporary);
    assert_int_equal(endpoint_publish(&first, &err), 0);
    assert_int_equal(endpoint_prepare(&second, path, &err), 0);
    assert_string_not_equal(first.temporary, second.temporary);
    int second_fd = listen_at(second.temporary);
    assert_int_equal(endpoint_publish(&second, &err), 0);
    endpoint_withdraw(&first);
    assert_int_equal(access(path, F_OK), 0);
    endpoint_withdraw(&second);
    assert_int_equal(access(path, F_OK), -1);
    endpoint_withdraw(&second);
    close(first_fd);
    close(second_fd);
}

TEST(folder_in_the_way_is_refused)
{
    struct endpoint_socket socket = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(endpoint_prepare(&socket, folder, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
}

TEST(missing_folder_is_told)
{
    struct endpoint_socket socket = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(endpoint_prepare(&socket, "/tmp/no/such/folder/csi.sock", &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_string_equal(err.message,
                        "make a socket in folder '/tmp/no/such/folder': No such file or directory");
}

TEST(publishing_what_is_not_there_fails)
{
    _cleanup_free_ char *path = xasprintf("%s/csi.sock", folder);
    _cleanup_(endpoint_done) struct endpoint_socket socket = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(endpoint_prepare(&socket, path, &err), 0);
    assert_int_equal(endpoint_publish(&socket, &err), -1);
    endpoint_withdraw(&socket);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

TEST_GROUP(make_folder, remove_folder)
