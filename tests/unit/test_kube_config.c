#include "tests/unit/fixtures/kube.h"

#include <sys/stat.h>

#include "common/kube/kube_config.h"

/* kubeconfig files and service accounts. */

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/test_kube_config.XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    static const char *const names[] = {"config", "token", "ca.crt", "namespace", "key.pem"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        _cleanup_free_ char *path = xasprintf("%s/%s", directory, names[i]);

        unlink(path);
    }
    return rmdir(directory);
}

#define IN_DIRECTORY .setup_func = make_directory, .teardown_func = remove_directory

static char *write_file(const char *name, const char *content)
{
    char *path = xasprintf("%s/%s", directory, name);
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fputs(content, file) >= 0, 1);
    return path;
}

static void load(const char *content, const char *context, struct kube_config *config)
{
    _cleanup_free_ char *path = write_file("config", content);
    _cleanup_error_ struct error err = {0};

    if (kube_config_load_file(path, context, config, &err) < 0)
        fail_msg("%s", err.message);
}

#define TWO_CONTEXTS                                                                               \
    "apiVersion: v1\nkind: Config\ncurrent-context: inline\n"                                      \
    "clusters:\n"                                                                                  \
    "- name: c1\n  cluster:\n    server: https://10.0.0.1:6443/\n"                                 \
    "    certificate-authority-data: Q0E=\n    tls-server-name: kubernetes\n"                      \
    "- name: c2\n  cluster: {server: 'http://localhost:8001/k8s', insecure-skip-tls-verify: "      \
    "true, certificate-authority: ca.crt}\n"                                                       \
    "users:\n"                                                                                     \
    "- name: u1\n  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}\n"             \
    "- name: u2\n  user:\n    tokenFile: token\n    token: old\n"                                  \
    "contexts:\n"                                                                                  \
    "- name: inline\n  context: {cluster: c1, user: u1, namespace: ceph}\n"                        \
    "- name: files\n  context: {cluster: c2, user: u2}\n"                                          \
    "- name: nobody\n  context: {cluster: c2}\n"

TEST(current_context_with_inline_certificates, IN_DIRECTORY)
{
    _cleanup_kube_config_ struct kube_config config = {0};
    _cleanup_kube_credentials_ struct kube_credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    load(TWO_CONTEXTS, NULL, &config);
    assert_string_equal(config.server, "https://10.0.0.1:6443");
    assert_string_equal(config.tls_server_name, "kubernetes");
    assert_string_equal(config.name_space, "ceph");
    assert_false(config.insecure);
    assert_int_equal(kube_credentials_read(&config, &credentials, &err), 0);
    assert_string_equal(credentials.ca_pem, "CA");
    assert_string_equal(credentials.certificate_pem, "CERT");
    assert_string_equal(secret_reveal(&credentials.key_pem), "KEY");
    assert_false(secret_is_set(&credentials.token));
}

TEST(files_beside_the_kubeconfig_are_read_for_each_request, IN_DIRECTORY)
{
    _cleanup_kube_config_ struct kube_config config = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *token = write_file("token", "first\n");

    free(write_file("ca.crt", "CA FILE"));
    load(TWO_CONTEXTS, "files", &config);
    assert_string_equal(config.server, "http://localhost:8001/k8s");
    assert_string_equal(config.name_space, "default");
    assert_true(config.insecure);
    for (unsigned i = 0; i < 2; i++) {
        _cleanup_kube_credentials_ struct kube_credentials credentials = {0};

        assert_int_equal(kube_credentials_read(&config, &credentials, &err), 0);
        assert_string_equal(secret_reveal(&credentials.token), i == 0 ? "first" : "second");
        assert_string_equal(credentials.ca_pem, "CA FILE");
        free(write_file("token", "second"));
    }
    unlink(token);
    struct kube_credentials none = {0};
    assert_int_equal(kube_credentials_read(&config, &none, &err), -1);
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
    assert_non_null(strstr(err.message, "/token'"));
}

TEST(context_without_user_is_nobody, IN_DIRECTORY)
{
    _cleanup_kube_config_ struct kube_config config = {0};

    load(TWO_CONTEXTS, "nobody", &config);
    assert_null(config.token_file);
}

TEST(json_is_taken_as_well, IN_DIRECTORY)
{
    _cleanup_kube_config_ struct kube_config config = {0};

    load("{\"current-context\":\"x\",\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\","
         "\"user\":\"u\"}}],\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"https://a\"}}],"
         "\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"sessam\"}}]}",
         NULL, &config);
    assert_string_equal(secret_reveal(&config.token), "sessam");
}

#define REST "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
#define CLUSTER "clusters: [{name: c, cluster: {server: 'https://a'}}]\n"

TEST(what_cannot_be_used_is_refused_with_advice, IN_DIRECTORY)
{
    static const struct {
        const char *content;
        enum status status;
        const char *message;
    } cases[] = {
        {REST CLUSTER "users: [{name: u, user: {exec: {command: aws}}}]", STATUS_UNIMPLEMENTED,
         "the user is described by 'exec', which is not supported"},
        {REST CLUSTER "users: [{name: u, user: {auth-provider: {name: gcp}}}]",
         STATUS_UNIMPLEMENTED, "'auth-provider'"},
        {REST CLUSTER "users: [{name: u, user: {username: a, password: topsecret}}]",
         STATUS_UNIMPLEMENTED, "'username'"},
        {REST CLUSTER "users: [{name: v, user: {}}]", STATUS_NOT_FOUND,
         "there is no user 'u' among the 1 in 'users'"},
        {REST "clusters: []\n", STATUS_NOT_FOUND, "there is no cluster 'c' among the 0"},
        {REST "clusters: [{name: c, cluster: {server: 'ftp://a'}}]", STATUS_INVALID_ARGUMENT,
         "begins with https://"},
        {REST "clusters: [{name: c, cluster: {server: 'https://a', certificate-authority-data: "
              "'!'}}]",
         STATUS_INVALID_ARGUMENT, "'certificate-authority-data' is not base64"},
        {REST CLUSTER "users: [{name: u, user: {client-key-data: S0VZ}}]", STATUS_INVALID_ARGUMENT,
         "a key its certificate"},
        {REST CLUSTER "users: [{name: u, user: {token: [topsecret]}}]", STATUS_INVALID_ARGUMENT,
         "user: token: expected a string, found an array"},
        {"clusters: []\n", STATUS_INVALID_ARGUMENT, "no current-context"},
        {"current-context: prod\ncontexts: [{name: prod1, context: {}}]\n", STATUS_NOT_FOUND,
         "did you mean 'prod1'?"},
        {"current-context: x\ncontexts: [{name: x}]\n", STATUS_INVALID_ARGUMENT,
         "the context names no cluster"},
        {"- a\n", STATUS_INVALID_ARGUMENT, "expected one document"},
        {"", STATUS_INVALID_ARGUMENT, "expected one document"},
        {"a: [topsecret\n", STATUS_INVALID_ARGUMENT, "line 2, column 1"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *path = write_file("config", cases[i].content);
        _cleanup_error_ struct error err = {0};
        struct kube_config config = {0};

        assert_int_equal(kube_config_load_file(path, "", &config, &err), -1);
        assert_null(config.server);
        if (err.status != cases[i].status || !strstr(err.message, cases[i].message))
            fail_msg("case %zu: %d %s", i, err.status, err.message);
        assert_null(strstr(err.message, "topsecret"));
    }
}

TEST(service_account_of_the_pod, IN_DIRECTORY)
{
    _cleanup_free_ char *token = write_file("token", "sessam\n");
    _cleanup_kube_config_ struct kube_config config = {0};
    _cleanup_kube_credentials_ struct kube_credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    free(write_file("ca.crt", "CA\n"));
    free(write_file("namespace", "ceph"));
    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(kube_config_load_in_cluster(directory, &config, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    error_clear(&err);
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(kube_config_load_in_cluster(directory, &config, &err), 0);
    assert_string_equal(config.server, "https://[fd00::1]:443");
    assert_string_equal(config.name_space, "ceph");
    assert_int_equal(kube_credentials_read(&config, &credentials, &err), 0);
    assert_string_equal(secret_reveal(&credentials.token), "sessam");
    assert_string_equal(credentials.ca_pem, "CA");
    unlink(token);
    struct kube_config none = {0};
    assert_int_equal(kube_config_load_in_cluster(directory, &none, &err), -1);
    assert_non_null(strstr(err.message, "automountServiceAccountToken"));
}

TEST(places_are_tried_in_order, IN_DIRECTORY)
{
    _cleanup_free_ char *path = write_file("config", TWO_CONTEXTS);
    _cleanup_kube_config_ struct kube_config named = {0};
    _cleanup_kube_config_ struct kube_config found = {0};
    _cleanup_error_ struct error err = {0};

    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    setenv("HOME", directory, 1);
    assert_int_equal(kube_config_load(path, "files", &named, &err), 0);
    struct kube_config none = {0};
    assert_int_equal(kube_config_load(NULL, NULL, &none, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    error_clear(&err);
    setenv("KUBECONFIG", path, 1);
    assert_int_equal(kube_config_load("", NULL, &found, &err), 0);
    assert_string_equal(found.server, "https://10.0.0.1:6443");
}
