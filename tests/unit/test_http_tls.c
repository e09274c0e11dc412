#include "tests/unit/fixtures/kube.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/base/subprocess.h"
#include "common/kube/kube_client.h"

/*
 * Who is trusted over TLS: the real client against `openssl s_server`, which asks for a certificate
 * of its CA and serves the file of one node, answer head included.
 */

#define NODE "/api/v1/nodes/n1"
#define NODE_ANSWER                                                                                \
    "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"metadata\":{\"name\":\"n1\"}}"

static char directory[64];

static char *path_of(const char *name)
{
    return xasprintf("%s/%s", directory, name);
}

static void run(const char *const *argv)
{
    const struct subprocess spec = {.argv = argv, .deadline = deadline_in_ms(60000)};
    _cleanup_error_ struct error err = {0};

    if (subprocess_check(&spec, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

/* A key and a certificate NAME.key and NAME.pem, signed by @issuer or, with NULL, by itself. */
static void make_certificate(const char *name, const char *issuer, const char *alternative_names)
{
    _cleanup_free_ char *key = xasprintf("%s/%s.key", directory, name);
    _cleanup_free_ char *pem = xasprintf("%s/%s.pem", directory, name);
    _cleanup_free_ char *subject = xasprintf("/CN=%s", name);
    _cleanup_free_ char *issuer_key = xasprintf("%s/%s.key", directory, issuer ? issuer : name);
    _cleanup_free_ char *issuer_pem = xasprintf("%s/%s.pem", directory, issuer ? issuer : name);
    const char *const argv[] = {"openssl",
                                "req",
                                "-x509",
                                "-newkey",
                                "ec",
                                "-pkeyopt",
                                "ec_paramgen_curve:prime256v1",
                                "-nodes",
                                "-days",
                                "2",
                                "-subj",
                                subject,
                                "-keyout",
                                key,
                                "-out",
                                pem,
                                "-addext",
                                alternative_names,
                                issuer ? "-CA" : NULL,
                                issuer_pem,
                                "-CAkey",
                                issuer_key,
                                NULL};

    run(argv);
}

struct server {
    pid_t pid;
    FILE *output; /* kept open: it goes on writing */
    char *url;
};

/* Reads "ACCEPT 127.0.0.1:PORT". */
static char *read_address(FILE *output)
{
    char line[256];

    while (fgets(line, sizeof(line), output))
        if (text_has_prefix(line, "ACCEPT ")) {
            const char *port = strrchr(line, ':');

            assert_non_null(port);
            return xasprintf("https://127.0.0.1:%.*s", (int)strcspn(port + 1, "\r\n "), port + 1);
        }
    fail_msg("openssl s_server does not listen");
    return NULL;
}

static void start_server(struct server *server)
{
    const char *const argv[] = {"openssl",
                                "s_server",
                                "-accept",
                                "127.0.0.1:0",
                                "-cert",
                                "server.pem",
                                "-key",
                                "server.key",
                                "-CAfile",
                                "ca.pem",
                                "-Verify",
                                "1",
                                "-verify_return_error",
                                "-HTTP",
                                NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    assert_int_equal(posix_spawnp(&server->pid, argv[0], &actions, NULL,
                                  (char *const *)(uintptr_t)argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    server->output = fdopen(ends[0], "r");
    assert_non_null(server->output);
    server->url = read_address(server->output);
}

static void make_node(void)
{
    static const char *const folders[] = {"api", "api/v1", "api/v1/nodes"};
    _cleanup_free_ char *path = path_of("api/v1/nodes/n1");

    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        _cleanup_free_ char *folder = path_of(folders[i]);

        assert_int_equal(mkdir(folder, 0755), 0);
    }
    _cleanup_fclose_ FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(NODE_ANSWER, file) >= 0);
}

static int set_up_server(void **state)
{
    static struct server server;

    snprintf(directory, sizeof(directory), "/tmp/test_http_tls.XXXXXX");
    assert_non_null(mkdtemp(directory));
    make_certificate("ca", NULL, "keyUsage=keyCertSign");
    make_certificate("stranger", NULL, "keyUsage=keyCertSign");
    make_certificate("server", "ca", "subjectAltName=IP:127.0.0.1,DNS:kube.test");
    make_certificate("client", "ca", "extendedKeyUsage=clientAuth");
    make_node();
    start_server(&server);
    *state = &server;
    return 0;
}

static int tear_down_server(void **state)
{
    struct server *server = *state;
    const char *const argv[] = {"rm", "-r", directory, NULL};

    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
    fclose(server->output);
    free(server->url);
    run(argv);
    return 0;
}

/* Asks for the node; returns 0 or -1 with *@err set. Takes the config over. */
static int ask(struct kube_config *config, struct error *err)
{
    _cleanup_(kube_freep) struct kube *kube = kube_client_new(config);
    json_auto_t *node = NULL;
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(30000));
    int result = kube->ops->get(kube, &call, NODE, &node, err);
    call_done(&call);
    if (result == 0)
        assert_string_equal(kube_name(node), "n1");
    return result;
}

static struct kube_config config_of(const struct server *server)
{
    return (struct kube_config){.source = xstrdup("the test"),
                                .server = xstrdup(server->url),
                                .name_space = xstrdup("default"),
                                .ca_file = path_of("ca.pem"),
                                .certificate_file = path_of("client.pem"),
                                .key_file = path_of("client.key")};
}

static void assert_works(struct kube_config *config)
{
    _cleanup_error_ struct error err = {0};

    if (ask(config, &err) < 0)
        fail_msg("%s", err.message);
}

TEST(certificates_of_one_ca_trust_each_other)
{
    struct kube_config config = config_of(*state);

    assert_works(&config);
}

TEST(certificates_may_be_inline)
{
    struct kube_config config = config_of(*state);
    _cleanup_kube_credentials_ struct kube_credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(kube_credentials_read(&config, &credentials, &err), 0);
    struct kube_config inlined = {.source = xstrdup("the test"),
                                  .server = xstrdup(config.server),
                                  .ca_pem = xstrdup(credentials.ca_pem),
                                  .certificate_pem = xstrdup(credentials.certificate_pem)};
    secret_copy(&inlined.key_pem, &credentials.key_pem);
    kube_config_done(&config);
    assert_works(&inlined);
}

TEST(server_of_another_ca_is_refused)
{
    struct kube_config config = config_of(*state);
    _cleanup_error_ struct error err = {0};

    free(config.ca_file);
    config.ca_file = path_of("stranger.pem");
    assert_int_equal(ask(&config, &err), -1);
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
    assert_non_null(strstr(err.message, "certificate"));
}

TEST(without_a_ca_of_its_own_those_of_the_system_count)
{
    struct kube_config config = config_of(*state);
    _cleanup_error_ struct error err = {0};

    free(TAKE(config.ca_file));
    assert_int_equal(ask(&config, &err), -1);
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
}

TEST(verification_can_be_switched_off)
{
    struct kube_config config = config_of(*state);

    free(TAKE(config.ca_file));
    config.insecure = true;
    assert_works(&config);
}

TEST(name_in_the_certificate_can_be_given)
{
    struct kube_config right = config_of(*state);
    struct kube_config wrong = config_of(*state);
    _cleanup_error_ struct error err = {0};

    right.tls_server_name = xstrdup("kube.test");
    assert_works(&right);
    wrong.tls_server_name = xstrdup("other.test");
    assert_int_equal(ask(&wrong, &err), -1);
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
}

TEST(client_without_certificate_is_refused_by_the_server)
{
    struct kube_config config = config_of(*state);
    _cleanup_error_ struct error err = {0};

    free(TAKE(config.certificate_file));
    free(TAKE(config.key_file));
    assert_int_equal(ask(&config, &err), -1);
    assert_non_null(err.message);
}

TEST(key_that_is_none_is_refused)
{
    struct kube_config config = config_of(*state);
    _cleanup_error_ struct error err = {0};

    free(config.key_file);
    config.key_file = path_of("ca.pem");
    assert_int_equal(ask(&config, &err), -1);
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
    assert_null(strstr(err.message, "BEGIN"));
}

TEST_GROUP(set_up_server, tear_down_server)
