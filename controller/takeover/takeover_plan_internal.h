#pragma once

#include "common/base/text.h"
#include "controller/takeover/takeover_plan.h"

/* Inside of the plan: a domain that is planned, and what its parts have in common. Pure. */

#define PLAN_NAMES_MAX 8 /* nodes named in a sentence */

/* One domain of the map, or one that is no longer in it. */
struct plan_domain {
    const struct takeover_world *world;
    struct takeover_plan *plan;
    const struct takeover_entry *entry; /* NULL: being given back */
    const char *level;
    const char *value;
    char *name;
    char *key;     /* of membership */
    char *segment; /* key of the plain segment */
};

/* A step that another domain has planned already is not added again. */
void plan_add_step(struct plan_domain *domain, enum takeover_step_kind kind,
                   const struct cluster_node *node, const char *subject);
/* Takes @explanation over. The answer is valid until the next domain is concluded. */
struct takeover_progress *plan_conclude(struct plan_domain *domain, bool is_blocked,
                                        char *explanation);

/* --- who may write: takeover_plan_writers.c --- */

bool plan_is_home(const struct plan_domain *domain, const struct cluster_node *node);
/* A label that the map, and not kubelet, has put there. */
bool plan_has_taken_over(const struct cluster_node *node, const char *key);
/* Whether the map says of one of the node's own domains that others serve it. */
bool plan_is_under_takeover(const struct takeover_world *world, const struct cluster_node *node);
/* Whether it takes the domain over. Never in a giveback. */
bool plan_shall_serve(const struct plan_domain *domain, const struct cluster_node *node);

bool plan_is_recorded(const struct cluster_node *node);
/* In the blocklists, and nobody is about to remove it. */
bool plan_is_address_fenced(const struct takeover_world *world, const char *address);

/* Adds what is missing before all addresses that are written down are fenced: the steps that fence
 * them or, if the node has rebooted since it was written down, that this is corrected first: it is
 * the kernel of now that may write until then. Returns false if nothing is missing. */
bool plan_fence_node(struct plan_domain *domain, const struct cluster_node *node);
/* Why those who may write cannot be fenced; NULL: they can. Caller frees. */
char *plan_fence_obstacle(const struct plan_domain *domain);
/* Adds what is missing before they are out; returns how many nodes are not yet. */
size_t plan_fence_nodes(struct plan_domain *domain);
/* Kubernetes honours the taint only on nodes that are down; one that is up ends its pods itself.
 * Returns how many are not tainted yet. */
size_t plan_taint_nodes(struct plan_domain *domain);
/* Names them in @names. */
void plan_list_writers(const struct plan_domain *domain, struct string_list *names);

/* --- pods: takeover_plan_drain.c --- */

/* What has yet to leave the nodes that have served a domain. */
struct plan_drain {
    size_t nodes;
    size_t pods;
    size_t leaving;
    size_t alone; /* without a controller that would make them again */
    struct text names;
};

#define PLAN_DRAIN_INIT                                                                            \
    {                                                                                              \
        .names = TEXT_INIT(1024)                                                                   \
    }
void plan_drain_done(struct plan_drain *drain);
void plan_count_draining(const struct plan_domain *domain, struct plan_drain *drain);
/* Adds the next few evictions, and notes where no pod is left; concludes. */
struct takeover_progress *plan_drain_nodes(struct plan_domain *domain,
                                           const struct plan_drain *drain);

/* --- giveback: takeover_plan_giveback.c --- */

void plan_giveback(struct plan_domain *domain);
/* Nodes that served the domain and shall no longer. Returns how many there are. */
size_t plan_unlabel_nodes(struct plan_domain *domain);
