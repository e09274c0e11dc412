#pragma once

/*
 * For tests of faults: every operation of the controller, with its n-th Ceph call failing or the
 * process dying there, for each n; then the same request again. The end must be that of an
 * undisturbed run, and nothing may be left behind.
 */
#include <unistd.h>

#include "common/base/memory.h"
#include "controller/backend.h"
#include "controller/purge.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"

#define GIB (1024LL * 1024 * 1024)

static char config_path[] = "/tmp/cephzone-faults-XXXXXX";

struct world;

/* What differs between the backends; each test program defines its own. */
struct fault_setup {
    const struct controller_backend *backend;
    enum access_type access;
    void (*fill_request)(struct create_request *request); /* the class, and a place */
    void (*world_init)(struct world *world);              /* the fake is there, and empty */
    void (*world_done)(struct world *world);              /* the fake is gone */
    void (*process_init)(struct controller *controller);  /* may be NULL */
    void (*process_done)(struct controller *controller);  /* may be NULL */
};
static const struct fault_setup SETUP;

/* One life of the driver: what a restart forgets. */
struct process {
    struct controller controller;
    struct config_file *config;
};

static inline void process_start(struct process *process, struct fake_ceph *fake)
{
    process->config = config_file_new(config_path);
    process->controller = (struct controller){
        .backend = SETUP.backend,
        .ceph = fake_ceph_as_ceph(fake),
        .config = process->config,
        .operations = operations_new(),
        .tasks = tasks_new(0),
        .purger = purger_new(0),
        /* the same in every life, so that no life waits for another one to be surely dead */
        .process_id = {"11111111-2222-4333-8444-555555555555"},
        .instance_id = "default",
        .cluster_name = "k8s-1",
        .set_metadata = true,
        .limits = {8, 4, 450, 250},
    };
    if (SETUP.process_init)
        SETUP.process_init(&process->controller);
}

static inline void process_end(struct process *process)
{
    if (SETUP.process_done)
        SETUP.process_done(&process->controller);
    assert_true(tasks_stop(process->controller.tasks, 0));
    tasks_free(process->controller.tasks);
    purger_free(process->controller.purger);
    operations_free(process->controller.operations);
    config_file_free(process->config);
}

/* --- requests -----------------------------------------------------------------------------------
 */

/* Handles of what a scenario has made so far. */
struct world {
    struct fake_ceph *fake;
    void *more; /* the backend's */
    char volume[VOLUME_ID_LENGTH_MAX + 1];
    char second[VOLUME_ID_LENGTH_MAX + 1];
    char snapshot[VOLUME_ID_LENGTH_MAX + 1];
    char group[VOLUME_ID_LENGTH_MAX + 1];
};

static inline void set_credentials(struct credentials *credentials)
{
    credentials->user = xstrdup("csi");
    secret_set(&credentials->key, "AQB");
}

static inline int create(struct process *process, const char *name, long long size,
                         enum source_kind kind, const char *source, char *handle, struct error *err)
{
    const bool is_shown = kind == SOURCE_SNAPSHOT && strstr(name, "shown");
    struct volume_capability capability = {.type = SETUP.access,
                                           .mode = is_shown ? ACCESS_MULTI_NODE_READER_ONLY
                                                            : ACCESS_SINGLE_NODE_WRITER};
    struct create_request request = {.name = xstrdup(name),
                                     .range = {.required_bytes = size},
                                     .source_kind = kind,
                                     .source_handle = source ? xstrdup(source) : NULL};
    struct volume volume = {0};
    struct call call;

    request.capabilities.items = xcalloc(1, sizeof(capability));
    request.capabilities.items[0] = capability;
    request.capabilities.count = 1;
    strmap_set(&request.parameters, "clusterID", "c1");
    SETUP.fill_request(&request);
    strmap_set(&request.parameters, "csi.storage.k8s.io/pvc/name", name);
    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateVolume", deadline_never());
    int result = controller_create_volume(&process->controller, &call, &request, &volume, err);
    if (result == 0 && handle)
        memcpy(handle, volume.handle, sizeof(volume.handle));
    call_done(&call);
    volume_done(&volume);
    create_request_done(&request);
    return result;
}

static inline int with_handle(struct process *process, const char *handle, const char *method,
                              int (*run)(const struct controller *, struct call *,
                                         const struct handle_request *, struct error *),
                              struct error *err)
{
    struct handle_request request = {.handle = xstrdup(handle)};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, method, deadline_never());
    int result = run(&process->controller, &call, &request, err);
    call_done(&call);
    handle_request_done(&request);
    return result;
}

static inline int create_volume(struct process *process, struct world *world, struct error *err)
{
    return create(process, "pvc-1", GIB, SOURCE_NONE, NULL, world->volume, err);
}

static inline int create_second(struct process *process, struct world *world, struct error *err)
{
    return create(process, "pvc-2", GIB, SOURCE_NONE, NULL, world->second, err);
}

static inline int delete_volume(struct process *process, struct world *world, struct error *err)
{
    return with_handle(process, world->volume, "DeleteVolume", controller_delete_volume, err);
}

static inline int delete_second(struct process *process, struct world *world, struct error *err)
{
    return with_handle(process, world->second, "DeleteVolume", controller_delete_volume, err);
}

static inline int create_snapshot(struct process *process, struct world *world, struct error *err)
{
    struct snapshot_request request = {.name = xstrdup("snapshot-1"),
                                       .source_handle = xstrdup(world->volume)};
    struct snapshot snapshot = {0};
    struct call call;

    strmap_set(&request.parameters, "csi.storage.k8s.io/volumesnapshot/name", "s1");
    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateSnapshot", deadline_never());
    int result = controller_create_snapshot(&process->controller, &call, &request, &snapshot, err);
    if (result == 0) {
        assert_true(snapshot.ready);
        assert_string_equal(snapshot.source_handle, world->volume);
        memcpy(world->snapshot, snapshot.handle, sizeof(snapshot.handle));
    }
    call_done(&call);
    snapshot_request_done(&request);
    return result;
}

static inline int delete_snapshot(struct process *process, struct world *world, struct error *err)
{
    return with_handle(process, world->snapshot, "DeleteSnapshot", controller_delete_snapshot, err);
}

static inline int restore(struct process *process, struct world *world, struct error *err)
{
    return create(process, "pvc-restored", 2 * GIB, SOURCE_SNAPSHOT, world->snapshot, world->second,
                  err);
}

static inline int clone_volume(struct process *process, struct world *world, struct error *err)
{
    return create(process, "pvc-cloned", 2 * GIB, SOURCE_VOLUME, world->volume, world->second, err);
}

static inline int create_group(struct process *process, struct world *world, struct error *err)
{
    struct group_request request = {.name = xstrdup("group-1")};
    struct group_snapshot group = {0};
    struct call call;

    string_list_add(&request.members, world->second);
    string_list_add(&request.members, world->volume);
    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateVolumeGroupSnapshot", deadline_never());
    int result =
        controller_create_group_snapshot(&process->controller, &call, &request, &group, err);
    if (result == 0) {
        assert_int_equal(group.count, 2);
        memcpy(world->group, group.handle, sizeof(group.handle));
    }
    call_done(&call);
    group_snapshot_done(&group);
    group_request_done(&request);
    return result;
}

static inline int delete_group(struct process *process, struct world *world, struct error *err)
{
    struct group_request request = {.handle = xstrdup(world->group)};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "DeleteVolumeGroupSnapshot", deadline_never());
    int result = controller_delete_group_snapshot(&process->controller, &call, &request, err);
    call_done(&call);
    group_request_done(&request);
    return result;
}

static inline int expand(struct process *process, struct world *world, struct error *err)
{
    struct expand_request request = {.handle = xstrdup(world->volume),
                                     .range = {.required_bytes = 3 * GIB}};
    struct expansion expansion = {0};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "ControllerExpandVolume", deadline_never());
    int result = controller_expand_volume(&process->controller, &call, &request, &expansion, err);
    if (result == 0)
        assert_int_equal(expansion.size_bytes, 3 * GIB);
    call_done(&call);
    expand_request_done(&request);
    return result;
}

/* --- scenarios ----------------------------------------------------------------------------------
 */

typedef int step(struct process *process, struct world *world, struct error *err);

struct scenario {
    const char *title;
    step *before[8]; /* undisturbed; ends with NULL */
    step *tested;
    step *after[8]; /* undisturbed: what must still be possible; ends with NULL */
    bool ends_empty;
};

static inline void world_init(struct world *world)
{
    *world = (struct world){.fake = fake_ceph_new()};
    SETUP.world_init(world);
}

static inline void world_free(struct world *world)
{
    fake_ceph_free(world->fake);
    if (SETUP.world_done)
        SETUP.world_done(world);
}

/* A step that is told to come back later comes back. */
static inline int run_patiently(step *run, struct process *process, struct world *world,
                                struct error *err)
{
    int result = run(process, world, err);

    for (int tries = 0; result < 0 && err->status == STATUS_ABORTED && tries < 5; tries++) {
        error_clear(err);
        result = run(process, world, err);
    }
    return result;
}

static inline void run_all(struct world *world, step *const *steps)
{
    struct process process;
    _cleanup_error_ struct error err = {0};

    process_start(&process, world->fake);
    for (size_t i = 0; steps[i]; i++) {
        if (run_patiently(steps[i], &process, world, &err) < 0)
            fail_msg("step %zu: %s", i, err.message);
        tasks_run_here(process.controller.tasks);
    }
    process_end(&process);
}

/* Runs the tested step once in a process of its own. */
static inline int run_once(struct world *world, step *tested, struct error *err)
{
    struct process process;

    process_start(&process, world->fake);
    int result = run_patiently(tested, &process, world, err);
    tasks_run_here(process.controller.tasks);
    process_end(&process);
    return result;
}

/* What there is, without the time at which it was begun. */
static inline char *dump(struct world *world)
{
    _cleanup_text_ struct text text = TEXT_INIT(1024 * 1024);
    struct text out = TEXT_INIT(1024 * 1024);
    char *rest = NULL;

    fake_ceph_dump_normalised(world->fake, &text);
    for (char *line = strtok_r(text.chars, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!strstr(line, "[cephzone.begun]"))
            text_addf(&out, "%s\n", line);
    return text_take(&out);
}

static inline char *undisturbed(const struct scenario *scenario, unsigned *calls)
{
    struct world world;
    _cleanup_error_ struct error err = {0};

    world_init(&world);
    run_all(&world, scenario->before);
    fake_ceph_reset_calls(world.fake);
    if (run_once(&world, scenario->tested, &err) < 0)
        fail_msg("%s: %s", scenario->title, err.message);
    *calls = fake_ceph_calls(world.fake);
    run_all(&world, scenario->after);
    char *end = dump(&world);
    world_free(&world);
    return end;
}

static inline void disturb(const struct scenario *scenario, unsigned n, enum fake_failure failure,
                           const char *wanted)
{
    struct world world;
    _cleanup_error_ struct error first = {0};
    _cleanup_error_ struct error err = {0};

    world_init(&world);
    run_all(&world, scenario->before);
    fake_ceph_fail_call(world.fake, n, failure);
    run_once(&world, scenario->tested, &first);
    fake_ceph_recover(world.fake);
    if (run_once(&world, scenario->tested, &err) < 0)
        fail_msg("%s, call %u, mode %d: the retry failed: %s; the first try: %s", scenario->title,
                 n, failure, err.message, first.message ? first.message : "succeeded");
    run_all(&world, scenario->after);
    _cleanup_free_ char *end = dump(&world);
    if (strcmp(end, wanted) != 0)
        fail_msg("%s, call %u, mode %d (%s): wanted\n%s\ngot\n%s", scenario->title, n, failure,
                 first.message ? first.message : "the first try succeeded", wanted, end);
    assert_int_equal(fake_ceph_open_handles(world.fake), 0);
    world_free(&world);
}

static inline void check(const struct scenario *scenario)
{
    static const enum fake_failure failures[] = {FAKE_FAIL_BEFORE, FAKE_FAIL_AFTER,
                                                 FAKE_CRASH_BEFORE, FAKE_CRASH_AFTER};
    unsigned calls = 0;
    _cleanup_free_ char *wanted = undisturbed(scenario, &calls);

    for (unsigned n = 1; n <= calls; n++)
        for (size_t i = 0; i < ARRAY_LENGTH(failures); i++)
            disturb(scenario, n, failures[i], wanted);
    print_message("%s: %u calls, %zu cut points\n", scenario->title, calls,
                  calls * ARRAY_LENGTH(failures));
    if (scenario->ends_empty) {
        assert_null(strstr(wanted, "image"));
        assert_null(strstr(wanted, "trash"));
        assert_null(strstr(wanted, "subvolume"));
        assert_null(strstr(wanted, "csi.snap."));
        assert_null(strstr(wanted, "rt-backing"));
    }
}

static inline int write_config(void **state)
{
    static const char json[] = "[{\"clusterID\":\"c1\",\"monitors\":[\"127.0.0.1\"]}]";
    int fd = mkstemp(config_path);

    (void)state;
    return fd >= 0 && write(fd, json, strlen(json)) == (ssize_t)strlen(json) ? close(fd) : -1;
}

static inline int remove_config(void **state)
{
    (void)state;
    return unlink(config_path);
}
