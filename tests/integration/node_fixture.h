#pragma once

#include <signal.h>

#include "tests/integration/harness.h"
#include "tests/integration/node_leftovers.h"
#include "tests/must.h"

/*
 * A node for tests: the real driver, with the fuse mapper or ceph-fuse, in a mount namespace of its
 * own, and the calls of a volume's life there. A program has one. Every failure of the fixture
 * itself ends the test.
 */
#define MIB (1024LL * 1024)
/* How long a test waits for what is to happen by itself; only one that fails waits that long. */
#define WAIT_MS 60000

#define NODE_FLAGS_MAX 4

/* Which kind of volumes the node serves: each test program defines it. */
extern const bool NODE_IS_CEPHFS;

struct test_node {
    const char *flags[NODE_FLAGS_MAX + 1]; /* further ones for the driver */
    struct driver_process driver;
    char *root;         /* holds staging and target folders */
    char *run_dir;      /* the driver's */
    int64_t timeout_ms; /* of each call; 0: two minutes */
};

extern struct test_node node;

/* For TEST_GROUP. The end checks that nothing is left, neither here nor in Ceph. */
int node_fixture_begin(void **state);
int node_fixture_end(void **state);
/* What node_fixture_begin() does, for groups that have to do something in between. */
void node_fixture_init(void);
void node_fixture_start(void);
/* Ends the driver with the signal, as which it must take it, and starts it again. */
void node_fixture_restart(int signal_number);

/* --- volumes and calls --- */

/* What a volume is and where it is staged and published. */
struct test_volume {
    char *handle;
    char *staging;
    char *target;
    const char *mode;     /* "SINGLE_NODE_WRITER" */
    const char *fs_type;  /* NULL: a block volume */
    const char *flag;     /* a mount flag; NULL: none */
    bool read_only;       /* publish */
    const char *context;  /* further entries of volume_context, as JSON; NULL: none */
    bool without_secrets; /* publish: as with a class that has no node-publish-secret-name */
};

/* The fs_type with which a test asks for files when it does not matter which file system it is. */
const char *plain_fs_type(void);
/* Creates a volume for files, of 32 MiB. */
struct test_volume plain_volume(const char *name);
/* Creates a volume, in pool "common" or as a subvolume, and the staging folder. */
void test_volume_create(struct test_volume *volume, const char *name, long long size_bytes);
/* As the above, for a volume that is there: takes @handle, which is freed, over. */
void test_volume_adopt(struct test_volume *volume, const char *name, char *handle);
/* Deletes it and the folder. */
void test_volume_delete(struct test_volume *volume);

typedef int node_step(const struct test_volume *volume, struct error *err);
node_step node_stage;
node_step node_unstage;
node_step node_publish;
node_step node_unpublish;
/* Grows the image and then the volume on the node. */
int node_grow(const struct test_volume *volume, long long size_bytes, struct error *err);
/* Caller calls json_decref(). NULL on failure. */
json_t *node_stats(const struct test_volume *volume, struct error *err);
/* A call of any kind; takes @request over. */
int node_call(const char *method, json_t *request, json_t **reply, struct error *err);
/* Makes the call from four threads at once; all end well. */
void node_calls_at_once(node_step *step, const struct test_volume *volume);

/* --- what most tests do --- */

/* Stages and publishes. */
void put_up(const struct test_volume *volume);
/* Unpublishes and unstages, after which there is nothing left on the node. */
void take_down(const struct test_volume *volume);
/* What NodeGetVolumeStats says: the total of the entry @index of its usage, 0 if there is none, for
 * which the volume must be well. */
json_int_t total_of(const struct test_volume *volume, size_t index);
bool is_sick(const struct test_volume *volume);
/* Answers false also while there is nothing at the target, as in the midst of a revival. */
bool is_well(const struct test_volume *volume);

void assert_nothing_left(void);
void assert_file(const char *folder, const char *name, const char *wanted);
/* The folder is there, but of a file system that is mounted for reading. */
void assert_not_writable(const char *folder);

void write_at(const char *folder, const char *name, const char *content);
/* And waits until Ceph has it; sync() does not wait for FUSE. */
void write_durably(const char *folder, const char *name, const char *content);
node_undo remove_file;
/* The whole file. Caller frees; NULL if it cannot be read. */
char *read_at(const char *folder, const char *name);
/* Writes or reads a text at the beginning of a device, past the caches. */
void write_device(const char *path, const char *content);
char *read_device(const char *path);
/* The name of the image behind a handle in pool "common". Caller frees. */
char *image_of(const char *handle);
