#pragma once

#include <stdbool.h>

#include "common/base/deadline.h"
#include "common/base/error.h"
#include "common/rpc/server.h"

/* The wire of kubelet's plugin registration, both ends of it. */

struct registration {
    const char *driver_name;
    const char *endpoint;
    /* kubelet says how it went; @fault is "" if well. */
    void (*notified)(void *object, bool registered, const char *fault);
    void *object;
};

/* The Registration service over @registration, which is borrowed. */
struct rpc_service registration_service(struct registration *registration);

/* Asks the socket at @path whom it registers. *@name (caller frees) is NULL when nobody answers or
 * it is no registration socket, which is no failure. */
_must_check_ int registration_ask(const char *path, struct deadline deadline, char **name,
                                  struct error *err);
