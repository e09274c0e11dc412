#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/base/flags.h"
#include "common/base/string_list.h"
#include "common/ceph/ceph.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "common/topology/pool_entry.h"

/* What the subcommands of cephzone share: their command lines, and how they reach Ceph. Main
 * thread. */

/* Exit codes; 0 when all is well. */
#define TOOL_FOUND 1 /* something is wrong with what was examined */
#define TOOL_USAGE 2
#define TOOL_BLIND 3 /* it could not be examined */

/* A subcommand: its command line and, for tool_run(), what becomes of it. */
struct tool_command {
    const char *name;
    const char *help; /* what --help prints before the flags */
    const struct flag *flags;
    size_t count;
    void *values;                                  /* what the flags fill */
    struct string_list *arguments;                 /* for what is no flag; NULL: refused */
    const char *const *words;                      /* the first argument is one of; NULL: any */
    int (*check)(void *values, struct error *err); /* NULL: nothing to check */
    int (*run)(void *values);                      /* the exit code */
};

/* The first argument by which a shell asks what could follow; see completion.h. */
#define TOOL_COMPLETE "__complete"

/* Prints help if an argument asks for it; else reads flags and arguments, which may come in any
 * order, checks them and runs the command. What follows "--" is no flag. Returns the exit code,
 * TOOL_USAGE if the command line is bad. */
int tool_run(const struct tool_command *command, int argc, char **argv);

/* Prints "cephzone COMMAND: message" and returns @code. */
int tool_fail(const char *command, int code, const struct error *err);
/* -o is one of @formats, which ends with NULL. */
_must_check_ int tool_check_output(const char *output, const char *const *formats,
                                   struct error *err);
#define TOOL_FORMATS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define TOOL_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* -o, for the table of a command; @formats as "table|json", of which the shell completes one. */
#define TOOL_OUTPUT_FLAGS(target, formats)                                                         \
    {"o", FLAG_STRING, &(target), NULL, NULL},                                                     \
    {                                                                                              \
        "output", FLAG_STRING, &(target), formats, "how to print it"                               \
    }
/* -n */
#define TOOL_NAMESPACE_FLAGS(target, what)                                                         \
    {"n", FLAG_STRING, &(target), NULL, NULL},                                                     \
    {                                                                                              \
        "namespace", FLAG_STRING, &(target), "NAMESPACE", what                                     \
    }

/* How often -w looks again. */
#define TOOL_WATCH_MS 2000
/* For -w: prints what @print prints to its file whenever it differs from what was there before, and
 * what it fails with to stderr. Without @watch once. Ends when nobody reads standard output any
 * more, and otherwise not by itself. Returns what @print returned last, an exit code; @print
 * reports failures in @err and returns TOOL_BLIND. */
typedef int tool_print_fn(void *object, FILE *file, struct error *err);
int tool_follow(const char *command, bool watch, tool_print_fn *print, void *object);

/* The flags of those commands that ask Ceph by themselves. Each command takes the ones it needs. */
struct tool_flags {
    const char *config;
    const char *secrets;
    const char *keyring;
    const char *output;
    const char *classes;
    const char *driver;
    const char *domain_labels;
    const char *takeover;
    const char *cluster;
    const char *instance;
    const char *kubeconfig;
    const char *context;
    struct string_list pools;
    int64_t timeout_ms;
};

/* Defaults of --timeout: where a few questions are asked, and where whole journals are read. */
#define TOOL_TIMEOUT_MS 60000
#define TOOL_SCAN_TIMEOUT_MS 600000

#define TOOL_FLAGS_INIT(wait_ms)                                                                   \
    {                                                                                              \
        .output = "table", .driver = "rbd.csi.ceph.com", .instance = "default",                    \
        .timeout_ms = (wait_ms)                                                                    \
    }

/* The flags that say which clusters to ask and as whom, for the table of a command. */
#define TOOL_CLUSTER_FLAGS(values)                                                                 \
    {"config", FLAG_STRING, &(values).config, "FILE", "the driver's config.json"},                 \
        {"secrets", FLAG_STRING, &(values).secrets, "FILE", "JSON file with userID and userKey"},  \
    {                                                                                              \
        "keyring", FLAG_STRING, &(values).keyring, "FILE", "Ceph keyring, instead of --secrets"    \
    }

/* --config is there, and one of --secrets and --keyring. */
_must_check_ int tool_check_cluster(const struct tool_flags *flags, struct error *err);
/* --timeout makes sense. */
_must_check_ int tool_check_timeout(const struct tool_flags *flags, struct error *err);
/* --classes is there, and --timeout makes sense. */
_must_check_ int tool_check_classes(const struct tool_flags *flags, struct error *err);
bool tool_prints_json(const struct tool_flags *flags);

/* A size as people write it: "10Gi", "10GiB", "500M", a number of bytes. INVALID_ARGUMENT unless
 * there is one and it is not negative. */
_must_check_ int tool_parse_size(const char *text, uint64_t *bytes, struct error *err);

/* From --secrets or --keyring. Caller calls credentials_done(), also after a failure. */
_must_check_ int tool_read_credentials(const struct tool_flags *flags,
                                       struct credentials *credentials, struct error *err);

/* The takeover map in force: that of the file at @path if it is not "", else that of @config (may
 * be NULL). Fails if it cannot be used. Caller calls tool_takeover_done(), also after a failure. */
struct tool_takeover {
    const struct takeover_map *map; /* NULL: none */
    struct takeover_map own;
    struct config *config;
};
_must_check_ int tool_read_takeover(const char *path, struct config_file *config,
                                    struct tool_takeover *takeover, struct error *err);
void tool_takeover_done(struct tool_takeover *takeover);

/* Frees @ceph (NULL is fine) and returns @code; ends the program with it if an attempt to reach a
 * cluster hangs. */
int tool_leave_ceph(struct ceph *ceph, int code);
