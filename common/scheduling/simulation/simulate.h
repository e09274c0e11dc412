#pragma once

#include "common/scheduling/simulation/actors.h"

/*
 * A scheduler over the library: places all pending pods of a snapshot one after the other, with the
 * PV controller and the provisioner doing their part in between, and reports what became of them.
 * Answers "what is stuck if this zone fails?" and "will it fit?". The snapshot is changed. The same
 * snapshot and request give the same result. One thread.
 *
 * As Kubernetes does it: a pod is done with looking when it has found enough nodes (all of up to
 * 100, half of 1,000, a tenth of 5,000), and the next begins behind; of these it takes the one with
 * the highest score of volumes and preferred affinity, then with the fewest pods, then the first
 * seen. Pods go in the order of their names; those that found no place are tried again when an
 * event of the meantime may help them. Results for pods without wishes of their own are remembered
 * for others that ask the same, until an event makes them void. Processors and memory are not
 * counted.
 */
struct simulation_request {
    const char *fail;       /* "zone=zone-a": these nodes are gone; "" for none */
    const char *takeover;   /* "zone-b": who serves the failed domain; "all"; "" for nobody */
    bool via_nodeinfo;      /* nodes take over by registering again; else by their labels */
    size_t add_pods;        /* with one claim each */
    const char *class_name; /* of these claims */
    struct quantity size;
    /* Called now and then; may be NULL. */
    void (*progress)(void *object, size_t done, size_t total, size_t stuck);
    void *progress_object;
};

#define SIMULATION_PODS_MAX 1000000

struct simulated_pod {
    const struct kube_pod *pod;
    bool is_placed;
    bool was_displaced; /* ran on a node that failed */
    char *from;         /* that node */
    char *reason;       /* why it found no place */
    unsigned tries;
};

/* Free space in one place before and after: of a CSIStorageCapacity, or of free volumes. */
struct simulated_space {
    char *class_name;
    char *place;
    bool is_volumes;
    bool has_failed;
    uint64_t before;
    uint64_t after;
};

struct simulation {
    struct simulated_pod *pods;
    size_t count;
    size_t placed;
    size_t displaced;
    size_t recovered;     /* of those displaced */
    size_t stuck_volumes; /* bound to claims of pods that found no place */
    size_t volumes_made;
    size_t rounds;
    size_t checks;     /* pods looked at on all nodes */
    size_t remembered; /* pods answered from results of others */
    struct simulated_space *spaces;
    size_t space_count;
    struct string_list notes;
};

/* NOT_FOUND for a domain or class that is not there, INVALID_ARGUMENT for a request that makes no
 * sense. Caller calls simulation_done(). */
_must_check_ int simulate(struct cluster_objects *cluster, const struct binding_options *options,
                          const struct simulation_request *request, struct simulation *simulation,
                          struct error *err);
void simulation_done(struct simulation *simulation);
#define _cleanup_simulation_ _cleanup_(simulation_done)
