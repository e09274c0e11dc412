#pragma once

#include "tests/fakes/fake_kube.h"
#include "tests/fakes/flapping_server.h"

/*
 * A fake_kube behind HTTP, so that the real client can talk to it, with faults on the way: a
 * share of all requests ends in a reset (before or after it took effect), a truncated or foreign
 * body, 410, 429, 503, 401, or a connection that is cut in the middle of an event. Which request
 * suffers what follows from a seed.
 */
struct flapping_kube {
    struct fake_kube *fake;
    struct flapping_server *server;
    unsigned permille; /* of requests that suffer; 0: none. May be changed while it runs */
    unsigned seed;
    const char *token; /* requests without it get 401; NULL: all are let in. Constant */
};

void flapping_kube_start(struct flapping_kube *flapping, struct fake_kube *fake);
void flapping_kube_stop(struct flapping_kube *flapping);
