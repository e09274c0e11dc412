#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/config/config.h"
#include "tests/fuzz/bytes.h"

/* config.json from a file in memory; every cluster in it must be found, or be without monitors. */

static const char *const WORDS[] = {"clusters",
                                    "clusterID",
                                    "clusterid",
                                    "monitors",
                                    "rbd",
                                    "cephFS",
                                    "radosNamespace",
                                    "mirrorCount",
                                    "mirrorDaemonCount",
                                    "netNamespaceFilePath",
                                    "controllerPublishSecretRef",
                                    "name",
                                    "namespace",
                                    "subvolumeGroup",
                                    "kernelMountOptions",
                                    "fuseMountOptions",
                                    "readAffinity",
                                    "enabled",
                                    "crushLocationLabels",
                                    "10.0.0.1:6789",
                                    ""};
static const struct fuzz_words ALL_WORDS = {WORDS, ARRAY_LENGTH(WORDS)};

/* Refusals are logged; there will be millions. */
static void silence(void)
{
    static bool is_silent;

    if (!is_silent)
        log_start(&(struct log_options){.file = "/dev/null"});
    is_silent = true;
}

static void walk(const struct config *config)
{
    for (size_t i = 0; i < config_cluster_count(config); i++) {
        const char *id = config_cluster_id(config, i);
        const struct cluster_config *cluster = NULL;
        _cleanup_error_ struct error err = {0};

        if (config_find_cluster(config, id, &cluster, &err) < 0)
            assert(!cluster && err.message);
        else
            assert(strcmp(cluster->cluster_id, id) == 0 && cluster->monitors);
    }
}

/* The input as it is, or the value that is built from it. */
static char *make_text(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    json_auto_t *value = fuzz_json(&bytes, &ALL_WORDS);
    char *text = value ? json_dumps(value, 0) : NULL;

    if (text)
        return text;
    return size > 0 ? xstrndup((const char *)data, size) : xstrdup("");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = make_text(data, size);
    _cleanup_close_ int fd = memfd_create("config.json", MFD_CLOEXEC);
    _cleanup_free_ char *path = xasprintf("/proc/self/fd/%d", fd);
    _cleanup_(config_file_freep) struct config_file *file = config_file_new(path);
    _cleanup_config_ struct config *config = NULL;
    _cleanup_error_ struct error err = {0};

    silence();
    assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    if (config_file_get(file, &config, &err) < 0)
        assert(err.status == STATUS_UNAVAILABLE && !config);
    else
        walk(config);
    return 0;
}
