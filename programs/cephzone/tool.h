#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/flags.h"
#include "common/ceph/ceph.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "common/topology/pool_entry.h"

/* What those subcommands of cephzone share that look at Ceph by themselves. Main thread. */

/* Exit codes; 0 when all is well. */
#define TOOL_FOUND 1 /* something is wrong with what was looked at */
#define TOOL_USAGE 2
#define TOOL_BLIND 3 /* could not look */

struct tool_flags {
    const char *config;
    const char *secrets;
    const char *keyring;
    const char *output; /* table, json */
};

#define TOOL_FLAGS_INIT                                                                            \
    {                                                                                              \
        .config = "", .secrets = "", .keyring = "", .output = "table"                              \
    }

/* As flags_parse(), and refuses arguments that are no flags. */
_must_check_ int tool_parse_flags(const struct flag *table, size_t count, int argc, char **argv,
                                  struct error *err);
/* tool_check_cluster() and -o table or json. */
_must_check_ int tool_check_flags(const struct tool_flags *flags, struct error *err);
/* --config is there, and one of --secrets and --keyring. */
_must_check_ int tool_check_cluster(const struct tool_flags *flags, struct error *err);
/* -o is one of @formats. */
_must_check_ int tool_check_output(const struct tool_flags *flags, const char *const *formats,
                                   size_t count, struct error *err);
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

/* The entry by which the place of a pool is being taken over; NULL if it is not. */
const struct takeover_entry *tool_find_takeover(const struct tool_takeover *takeover,
                                                const struct pool_entry *entry);

/* Frees @ceph and returns @code; ends the program with it if an attempt to reach a cluster hangs.
 */
int tool_leave_ceph(struct ceph *ceph, int code);
