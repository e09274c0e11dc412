#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/rpc/client.h"

/*
 * Runs the real driver against the throwaway cluster of tests/ceph and talks to it over its socket.
 * The cluster comes from the environment (tests/ceph/cluster's DIR/env), the driver from CEPHCSI.
 * Every failure of the harness itself ends the test.
 */
struct harness_cluster {
    const char *fsid;
    const char *monitors;
    const char *user;
    char *key;
};

/* Fails the test program when the environment does not name a cluster. */
const struct harness_cluster *harness_cluster(void);

struct driver_process {
    pid_t pid; /* 0 while it does not run */
    char *folder;
    char *config_path;
    char *endpoint;
    char *log_path;
    struct rpc_client *client;
    bool once; /* set while every call to it is made '.once', also those that helpers make */
};

/* For TEST_GROUP: starts and stops gRPC. */
int harness_begin(void **state);
int harness_end(void **state);

/* Makes a folder with config.json for the cluster. */
void harness_init(struct driver_process *driver);
/* Replaces config.json. */
void harness_write_config(struct driver_process *driver, const char *json);
/* Starts the driver and waits until it answers. @extra (NULL-terminated, may be NULL) are further
 * flags. A second start after an end takes the same socket and appends to the log. */
void harness_start(struct driver_process *driver, const char *const *extra);
/* The two halves of it, for other arguments: starts a program, whose path is absolute unless
 * @folder, its working directory, is NULL; waits until the driver answers at its endpoint. */
void harness_spawn(struct driver_process *driver, const char *folder, char *const *argv);
void harness_connect(struct driver_process *driver);
/* Sends @signal_number (0: none) and waits; returns the exit code, or 128 + signal. Fails the test
 * if that takes longer than @timeout_ms, or if there is a sanitizer's report in the log. */
int harness_stop(struct driver_process *driver, int signal_number, int64_t timeout_ms);
/* Stops if it runs and removes the folder. */
void harness_done(struct driver_process *driver);

/* For TEST_CLEANUP: kills the drivers that still run and empties the pools of RBD. */
void harness_clean_up(void);
/* The first half of it, for programs whose volumes are elsewhere. */
void harness_kill_drivers(void);

/* Fails the test, and prints the report, if a sanitizer wrote one to the log of a process. */
void harness_assert_no_report(const char *log_path);

/* The whole log so far. Caller frees. */
char *harness_log(const struct driver_process *driver);

struct harness_call {
    const char *method;
    const char *request; /* JSON */
    bool without_secrets;
    const char *user;   /* NULL: the cluster's */
    const char *key;    /* NULL: the cluster's */
    int64_t timeout_ms; /* of each try; 0: 60 s */
    bool once;          /* what the first try says is the answer */
};

/*
 * Makes a call as CSI's callers do: one that is told ABORTED, UNAVAILABLE or DEADLINE_EXCEEDED is
 * made again, with pauses that grow, for three minutes at most. A test that expects such a status,
 * or that ends the driver meanwhile, asks for one try with '.once'. How many were made again is
 * printed when the program ends. Returns 0 with *@reply (may be NULL if nobody wants it;
 * json_decref) or -1. Any thread.
 */
int harness_call(struct driver_process *driver, const struct harness_call *call, json_t **reply,
                 struct error *err);

/* CreateVolume with @size_bytes in @pool and the cluster's secrets; the request as JSON. Caller
 * frees. */
char *harness_create_request(const char *name, const char *pool, long long size_bytes);
/* Calls it and returns the handle (caller frees); NULL with @err set on failure. */
char *harness_create_volume(struct driver_process *driver, const char *name, const char *pool,
                            long long size_bytes, struct error *err);
int harness_delete_volume(struct driver_process *driver, const char *handle, struct error *err);

/* Runs a program of Ceph's as client.admin and returns what it prints. Caller frees. */
char *harness_run_tool(const char *const *argv);

/* Everything there is in a pool, as lines of text: objects, omap keys and values of the journal,
 * images, trash. Caller frees. "" means empty. */
char *harness_pool_contents(const char *pool);

/* Fails unless the pool becomes empty: data of deleted volumes goes in the background, and what a
 * killed process had open only after 30 s. */
void harness_assert_pool_empties(const char *pool);
