#pragma once

#include "common/base/call.h"
#include "common/linux/host_ops.h"

/*
 * Lets the daemon that a program has left behind survive the end of this container, by
 * daemon_detach(). One that cannot works as well until then: the log says so.
 */
void daemon_keep(struct host *host, struct call *call, const char *program, const char *argument);
