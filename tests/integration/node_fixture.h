#pragma once

#include "tests/integration/harness.h"

/*
 * A node for tests: the real driver, with the fuse mapper or ceph-fuse, in a mount namespace of its
 * own, and the calls of a volume's life there. Every failure of the fixture itself ends the test.
 */
#define MIB (1024LL * 1024)

struct test_node {
    bool is_cephfs;
    const char *flag; /* one more for the driver; NULL: none */
    struct driver_process driver;
    char *root;    /* holds staging and target folders */
    char *run_dir; /* the driver's */
};

/* Once per program, before threads: mounts made from here on are seen by nobody else. */
void node_fixture_isolate(void);
void node_fixture_init(struct test_node *node);
void node_fixture_start(struct test_node *node);
/* Checks that nothing is left, too. */
void node_fixture_done(struct test_node *node);

/* What a volume is and where it is staged and published. */
struct test_volume {
    char *handle;
    char *staging;
    char *target;
    const char *mode;    /* "SINGLE_NODE_WRITER" */
    const char *fs_type; /* NULL: a block volume */
    const char *flag;    /* a mount flag; NULL: none */
    bool read_only;      /* publish */
    const char *key;     /* one more entry of volume_context; NULL: none */
    const char *value;
    bool without_secrets; /* publish: as with a class that has no node-publish-secret-name */
};

/* Creates a volume, in pool "common" or as a subvolume, and the staging folder. */
void test_volume_create(struct test_node *node, struct test_volume *volume, const char *name,
                        long long size_bytes);
/* As the above, for a volume that is there: takes @handle, which is freed, over. */
void test_volume_adopt(struct test_node *node, struct test_volume *volume, const char *name,
                       char *handle);
/* Deletes it and the folder. */
void test_volume_delete(struct test_node *node, struct test_volume *volume);

int node_stage(struct test_node *node, const struct test_volume *volume, struct error *err);
int node_unstage(struct test_node *node, const struct test_volume *volume, struct error *err);
int node_publish(struct test_node *node, const struct test_volume *volume, struct error *err);
int node_unpublish(struct test_node *node, const struct test_volume *volume, struct error *err);
/* Grows the image and then the volume on the node. */
int node_grow(struct test_node *node, const struct test_volume *volume, long long size_bytes,
              struct error *err);
/* Caller calls json_decref(). NULL on failure. */
json_t *node_stats(struct test_node *node, const struct test_volume *volume, struct error *err);
/* A call of any kind with fields of @volume: %handle, %staging and %target are replaced. */
int node_call(struct test_node *node, const char *method, json_t *request, json_t **reply,
              struct error *err);

/* Makes the call from four threads at once: all end well or are told ABORTED, one at least ends
 * well. */
typedef int node_step(struct test_node *node, const struct test_volume *volume, struct error *err);
void node_calls_at_once(struct test_node *node, node_step *step, const struct test_volume *volume);

/* Fail the test with the error's message. */
#define must(expression)                                                                           \
    do {                                                                                           \
        _cleanup_error_ struct error err = {0};                                                    \
                                                                                                   \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.message);                                          \
    } while (0)
/* Fail the test unless the expression fails with that status and its message contains the text. */
#define must_refuse(expression, wanted_status, part)                                               \
    do {                                                                                           \
        _cleanup_error_ struct error err = {0};                                                    \
                                                                                                   \
        if ((expression) == 0)                                                                     \
            fail_msg("%s succeeded", #expression);                                                 \
        if (err.status != (wanted_status) || !strstr(err.message, (part)))                         \
            fail_msg("%s: %s: %s", #expression, status_name(err.status), err.message);             \
    } while (0)

/* Loop devices, daemons, mounts and files of this node, as lines; "" when there is nothing. Device
 * numbers and ids, which differ from run to run, are left out. Caller frees. */
char *node_leftovers(const struct test_node *node);

void write_at(const char *folder, const char *name, const char *content);
/* Caller frees; NULL if it cannot be read. */
char *read_at(const char *folder, const char *name);
/* Writes or reads a text at the beginning of a device, past the caches. */
void write_device(const char *path, const char *content);
char *read_device(const char *path);
/* Runs a program and returns what it prints; fails the test if it fails. Caller frees. */
char *run_program(const char *const *argv);
/* The name of the image behind a handle in pool "common". Caller frees. */
char *image_of(const char *handle);
/* Pid of the daemon that exports the volume's image, or of its ceph-fuse; 0: none. */
pid_t daemon_of(const struct test_node *node, const struct test_volume *volume);
