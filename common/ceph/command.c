/*
 * Commands to the monitors and the manager. librados blocks until they answer, so each command has
 * a thread of its own that the caller leaves when its time is up.
 *
 * Manager commands need a connection without rados_mon_op_timeout: with it rados_mgr_command (16.2)
 * returns after that time, with a positive errno, while the manager's answer, if it comes later, is
 * written to where the caller's stack was. The process dies of it.
 *
 * A module of the managers that hangs is not asked by everybody: see breaker.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/connections.h"

#define REPLY_LIMIT ((size_t)64 << 20)

typedef int send_fn(rados_t cluster, const char **commands, size_t count, const char *input,
                    size_t input_length, char **output, size_t *output_length, char **status,
                    size_t *status_length);

struct command {
    struct errand errand;
    send_fn *send;
    char *text;
    struct breaker_module *module; /* NULL: the monitors */
    int result;
    char *output;
    char *status;
    size_t output_length;
    size_t status_length;
};

static void release_command(struct errand *errand)
{
    struct command *command = (struct command *)errand;

    rados_buffer_free(command->output);
    rados_buffer_free(command->status);
    free(command->text);
    free(command);
}

/* The command's thread. */
static void run_ceph_command(rados_t rados, struct errand *errand)
{
    struct command *command = (struct command *)errand;
    const char *text = command->text;
    int result = command->send(rados, &text, 1, NULL, 0, &command->output, &command->output_length,
                               &command->status, &command->status_length);

    if (command->module)
        breaker_answered(command->module);
    command->result = result > 0 ? -result : result;
}

/* A manager that has just become active says so of every module until it has loaded them, with the
 * errno that modules have for what they do not support. */
static bool lacks_its_module(const struct command *command)
{
    static const char sign[] = "is not enabled/loaded";

    return command->result == -EOPNOTSUPP && command->status &&
           memmem(command->status, command->status_length, sign, sizeof(sign) - 1);
}

/* @module may be NULL. */
static int send_command(struct ceph_cluster *cluster, struct call *call,
                        struct connection *connection, send_fn *send, const char *whom,
                        const char *text, struct breaker_module *module, char **reply,
                        struct error *err)
{
    struct real_ceph *ceph = real_cluster(cluster)->ceph;
    int64_t start_ms = clock_monotonic_ms();
    struct deadline give_up =
        deadline_earlier(admission_deadline(call), deadline_in_ms(ceph->options.mon_op_timeout_ms));
    struct command *command = xcalloc(1, sizeof(*command));

    errand_init(&command->errand, run_ceph_command, release_command);
    command->send = send;
    command->module = module;
    command->text = xstrdup(text);
    call_stage(call, "waiting {age} for a command to the %s of cluster '%s'", whom,
               cluster->cluster_id);
    if (connections_run(ceph->connections, connection, &command->errand, err) < 0)
        return -1;
    if (!errand_wait(&command->errand, call, give_up)) {
        if (module)
            breaker_left(module, start_ms);
        if (call_check(call, err) < 0)
            return -1;
        return error_set(err, STATUS_DEADLINE_EXCEEDED,
                         "the %s of cluster '%s' have not answered %s for %lld ms", whom,
                         cluster->cluster_id, text, (long long)(clock_monotonic_ms() - start_ms));
    }
    int result = 0;
    if (lacks_its_module(command))
        result =
            error_set(err, STATUS_UNAVAILABLE,
                      "the %s of cluster '%s', perhaps just started, cannot run %s yet: %.*s", whom,
                      cluster->cluster_id, text, (int)command->status_length, command->status);
    else if (command->result < 0)
        result = error_set_errno(err, command->result, "the %s of cluster '%s' refused %s: %.*s",
                                 whom, cluster->cluster_id, text, (int)command->status_length,
                                 command->status ? command->status : "");
    else if (command->output_length > REPLY_LIMIT)
        result =
            error_set(err, STATUS_INTERNAL, "the %s of cluster '%s' answered %s with %zu bytes",
                      whom, cluster->cluster_id, text, command->output_length);
    else
        *reply = xstrndup(command->output ? command->output : "", command->output_length);
    errand_free(&command->errand);
    return result;
}

static int mon_command(struct ceph_cluster *cluster, struct call *call, const char *command,
                       char **reply, struct error *err)
{
    return send_command(cluster, call, real_cluster(cluster)->connection, rados_mon_command,
                        "monitors", command, NULL, reply, err);
}

static int mgr_command(struct ceph_cluster *cluster, struct call *call, const char *command,
                       char **reply, struct error *err)
{
    struct real_cluster *real = real_cluster(cluster);
    struct admission_place place = {0};
    struct connection *manager = NULL;
    struct breaker_module *module = breaker_find(real->ceph->breaker, cluster->cluster_id, command);

    if (breaker_enter(module, err) < 0 ||
        admission_enter(real->ceph->managers, call, cluster->cluster_id, 0, cluster->cluster_id,
                        &place, err) < 0)
        return -1;
    int result =
        connections_join_manager(real->ceph->connections, call, real->connection, &manager, err);
    if (result == 0) {
        result = send_command(cluster, call, manager, rados_mgr_command, "managers", command,
                              module, reply, err);
        connections_leave(real->ceph->connections, manager);
    }
    admission_leave(real->ceph->managers, &place);
    return result;
}

/* As a command without text or answer. */
static int await_newest_map(rados_t cluster, const char **commands, size_t count, const char *input,
                            size_t input_length, char **output, size_t *output_length,
                            char **status, size_t *status_length)
{
    (void)commands, (void)count, (void)input, (void)input_length;
    (void)output, (void)output_length, (void)status, (void)status_length;
    return rados_wait_for_latest_osdmap(cluster);
}

int cluster_refresh_map(struct ceph_cluster *cluster, struct call *call, struct error *err)
{
    _cleanup_free_ char *reply = NULL;
    _cleanup_free_ char *nothing = NULL;
    _cleanup_error_ struct error refusal = {0};

    /* librados (16.2) waits for the map however long that takes, and so would a thread of it. A
     * command, which librados ends, finds out first whether the monitors answer. */
    if (mon_command(cluster, call, "{\"prefix\":\"version\"}", &reply, &refusal) < 0 &&
        (refusal.status == STATUS_DEADLINE_EXCEEDED || refusal.status == STATUS_CANCELLED ||
         refusal.status == STATUS_UNAVAILABLE))
        return error_move(err, &refusal);
    return send_command(cluster, call, real_cluster(cluster)->connection, await_newest_map,
                        "monitors", "the request for the newest osdmap", NULL, &nothing, err);
}

void commands_register(struct ceph_ops *ops)
{
    ops->mon_command = mon_command;
    ops->mgr_command = mgr_command;
}
