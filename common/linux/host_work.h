#pragma once

#include "common/base/call.h"
#include "common/linux/host_ops.h"

/*
 * Programs that may take longer than the call that needs them: a check of a file system can take
 * hours, a call has two minutes, and a check that is killed starts over for ever. Here they go on
 * when their call has ended, and a later call gets what came of them.
 *
 * Each belongs to a folder, the staging path of a volume, one at a time. The program keeps that
 * folder locked until it ends: when this process dies, however suddenly, and the program does not,
 * the next one sees it and starts none beside it.
 *
 * Any thread. A call waits until a second before its deadline, so that its answer is still read.
 */
struct host_works;

/* @host is borrowed. */
struct host_works *host_works_new(struct host *host);
/* Ends the programs that run, as politely as there is time for. No call may be in progress. */
void host_works_free(struct host_works *works);

/* Whose program it is. Borrowed. */
struct host_work {
    struct host_works *works;
    const char *folder;
};

/*
 * Runs a program to its end, as subprocess_check() does, without a deadline. If the very same one,
 * by its arguments, was begun by an earlier call, its end is waited for, or taken as it was. @doing
 * says for messages what it does: "checking the file system on '/dev/rbd0'".
 *
 * ABORTED, with @doing and for how long, if it still runs when @call must answer. Never NULL:
 * @result.
 */
_must_check_ int host_work_run(const struct host_work *work, struct call *call,
                               const char *const *argv, const char *doing,
                               struct subprocess_result *result, struct error *err);

/* Waits until no program works for the folder; ABORTED as above. */
_must_check_ int host_work_wait(const struct host_work *work, struct call *call, struct error *err);

/* ABORTED while a program works for another folder with @device, whose content means nothing then:
 * two volumes can be of one image. */
_must_check_ int host_work_check_device(const struct host_work *work, const char *device,
                                        struct error *err);

/* Whether one that this process has started does: what it works on must stay as it is. */
bool host_work_is_running(const struct host_work *work);

/* Drops what came of an ended one, if nobody asked: what it worked on goes, or has gone. */
void host_work_forget(const struct host_work *work);
