#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/rpc/client.h"
#include "common/rpc/message.h"
#include "common/rpc/rpc.h"
#include "common/rpc/server.h"
#include "csi.pb-c.h"

/*
 * A server in a folder of its own, for tests of server and client. The name in a CreateVolume
 * request says what its handler does:
 *
 *   "fail"    answers ALREADY_EXISTS with the volume's parameter "text"
 *   "sleep"   takes 300 ms, whatever happens
 *   "wait"    waits until it is cancelled, then fails with what call_check() says
 *   "hold"    waits until the test lets it go, whatever happens
 *   other     answers with a volume of that id
 *
 * Probe is quick and never waits.
 */
struct fixture {
    char folder[64];
    char *socket;
    struct rpc_server *server;
    struct rpc_client *client;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned running;   /* handlers of CreateVolume */
    unsigned served;    /* ended ones */
    unsigned cancelled; /* that saw that they were cancelled */
    bool let_go;
};

static inline void fixture_wait_for_running(struct fixture *fixture, unsigned count)
{
    pthread_mutex_lock(&fixture->lock);
    while (fixture->running < count)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    pthread_mutex_unlock(&fixture->lock);
}

static inline void fixture_wait_for_cancelled(struct fixture *fixture, unsigned count)
{
    pthread_mutex_lock(&fixture->lock);
    while (fixture->cancelled < count)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    pthread_mutex_unlock(&fixture->lock);
}

static inline void fixture_let_go(struct fixture *fixture)
{
    pthread_mutex_lock(&fixture->lock);
    fixture->let_go = true;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

static inline void fixture_count(struct fixture *fixture, unsigned *counter, int step)
{
    pthread_mutex_lock(&fixture->lock);
    *counter = (unsigned)((int)*counter + step);
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

static inline void fixture_hold(struct fixture *fixture)
{
    pthread_mutex_lock(&fixture->lock);
    while (!fixture->let_go)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    pthread_mutex_unlock(&fixture->lock);
}

static inline int fixture_act(struct fixture *fixture, struct call *call,
                              const Csi__V1__CreateVolumeRequest *request, struct error *err)
{
    if (strcmp(request->name, "fail") == 0)
        return error_set(err, STATUS_ALREADY_EXISTS, "%s",
                         request->n_parameters > 0 ? request->parameters[0]->value : "it exists");
    if (strcmp(request->name, "sleep") == 0)
        usleep(300000);
    if (strcmp(request->name, "hold") == 0)
        fixture_hold(fixture);
    if (strcmp(request->name, "wait") == 0) {
        while (!call_is_cancelled(call))
            usleep(2000);
        fixture_count(fixture, &fixture->cancelled, 1);
        return call_check(call, err);
    }
    return 0;
}

static inline int fixture_create_volume(void *object, struct call *call,
                                        const ProtobufCMessage *message, ProtobufCMessage **reply,
                                        struct error *err)
{
    const Csi__V1__CreateVolumeRequest *request = (const void *)message;
    struct fixture *fixture = object;

    fixture_count(fixture, &fixture->running, 1);
    call_stage(call, "acting for {age}");
    int result = fixture_act(fixture, call, request, err);
    fixture_count(fixture, &fixture->running, -1);
    fixture_count(fixture, &fixture->served, 1);
    if (result < 0)
        return -1;
    Csi__V1__CreateVolumeResponse *response =
        message_new(&csi__v1__create_volume_response__descriptor);
    response->volume = message_new(&csi__v1__volume__descriptor);
    response->volume->volume_id = xstrdup(request->name);
    *reply = &response->base;
    return 0;
}

static inline int fixture_probe(void *object, struct call *call, const ProtobufCMessage *request,
                                ProtobufCMessage **reply, struct error *err)
{
    (void)object;
    (void)call;
    (void)request;
    (void)err;
    *reply = message_new(&csi__v1__probe_response__descriptor);
    return 0;
}

static const struct rpc_method fixture_methods[] = {
    {.path = "/csi.v1.Controller/CreateVolume",
     .request = &csi__v1__create_volume_request__descriptor,
     .response = &csi__v1__create_volume_response__descriptor,
     .handle = fixture_create_volume},
    {.path = "/csi.v1.Identity/Probe",
     .request = &csi__v1__probe_request__descriptor,
     .response = &csi__v1__probe_response__descriptor,
     .handle = fixture_probe,
     .quick = true},
};

static inline void fixture_die(const char *what, const struct error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(1);
}

/* A further server for the same handlers and socket. Ends the program if it does not start. */
static inline struct rpc_server *fixture_serve(struct fixture *fixture,
                                               const struct rpc_server_options *options)
{
    struct rpc_server_options all = *options;
    const struct rpc_service service = {fixture_methods, ARRAY_LENGTH(fixture_methods), fixture};
    struct rpc_server *server = NULL;
    _cleanup_error_ struct error err = {0};

    all.endpoint = fixture->socket;
    if (rpc_server_new(&all, &server, &err) < 0)
        fixture_die("new server", &err);
    rpc_server_add(server, &service);
    if (rpc_server_start(server, &err) < 0)
        fixture_die("start server", &err);
    return server;
}

static inline struct fixture *fixture_new(const struct rpc_server_options *options)
{
    struct fixture *fixture = xcalloc(1, sizeof(*fixture));
    _cleanup_error_ struct error err = {0};

    pthread_mutex_init(&fixture->lock, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/test-rpc-XXXXXX");
    if (!mkdtemp(fixture->folder))
        abort();
    fixture->socket = xasprintf("%s/csi.sock", fixture->folder);
    fixture->server = fixture_serve(fixture, options);
    if (rpc_client_new(fixture->socket, &fixture->client, &err) < 0)
        fixture_die("new client", &err);
    return fixture;
}

static inline void fixture_free(struct fixture *fixture)
{
    rpc_client_free(fixture->client);
    rpc_server_free(fixture->server);
    if (rmdir(fixture->folder) < 0)
        fprintf(stderr, "%s is not empty: %m\n", fixture->folder);
    pthread_cond_destroy(&fixture->changed);
    pthread_mutex_destroy(&fixture->lock);
    free(fixture->socket);
    free(fixture);
}
DEFINE_CLEANUP(struct fixture, fixture_free)

/* CreateVolume; the volume's id goes to *@id, which the caller frees, unless @id is NULL. */
static inline int fixture_create(struct rpc_client *client, const char *name, const char *text,
                                 struct deadline deadline, char **id, struct error *err)
{
    _cleanup_(message_freep) ProtobufCMessage *reply = NULL;
    Csi__V1__CreateVolumeRequest__ParametersEntry entry;
    Csi__V1__CreateVolumeRequest__ParametersEntry *entries[] = {&entry};
    Csi__V1__CreateVolumeRequest message;
    char key[] = "text";

    csi__v1__create_volume_request__init(&message);
    csi__v1__create_volume_request__parameters_entry__init(&entry);
    message.name = (char *)(uintptr_t)name;
    if (text) {
        entry.key = key;
        entry.value = (char *)(uintptr_t)text;
        message.parameters = entries;
        message.n_parameters = 1;
    }
    const struct rpc_request request = {
        .path = "/csi.v1.Controller/CreateVolume",
        .message = &message.base,
        .response = &csi__v1__create_volume_response__descriptor,
        .deadline = deadline,
    };
    if (rpc_client_call(client, &request, &reply, err) < 0)
        return -1;
    if (id)
        *id = xstrdup(((Csi__V1__CreateVolumeResponse *)reply)->volume->volume_id);
    return 0;
}

static inline int fixture_send_probe(struct rpc_client *client, bool wait_for_ready,
                                     struct error *err)
{
    _cleanup_(message_freep) ProtobufCMessage *reply = NULL;
    Csi__V1__ProbeRequest message;

    csi__v1__probe_request__init(&message);
    const struct rpc_request request = {
        .path = "/csi.v1.Identity/Probe",
        .message = &message.base,
        .response = &csi__v1__probe_response__descriptor,
        .deadline = deadline_in_ms(10000),
        .wait_for_ready = wait_for_ready,
    };
    return rpc_client_call(client, &request, &reply, err);
}

/* A CreateVolume that runs in a thread of its own. */
struct background_call {
    struct rpc_client *client;
    const char *name;
    struct deadline deadline;
    pthread_t thread;
    struct error err;
    int result;
};

static inline void *background_run(void *argument)
{
    struct background_call *call = argument;

    call->result = fixture_create(call->client, call->name, NULL, call->deadline, NULL, &call->err);
    return NULL;
}

static inline void background_start(struct background_call *call, struct fixture *fixture,
                                    const char *name, struct deadline deadline)
{
    *call = (struct background_call){.client = fixture->client, .name = name, .deadline = deadline};
    pthread_create(&call->thread, NULL, background_run, call);
}

static inline void background_join(struct background_call *call)
{
    pthread_join(call->thread, NULL);
}
