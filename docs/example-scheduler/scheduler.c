/*
 * A scheduler in one file: reads the cluster and its events, prints the commands that bind pods.
 *
 *   kubectl get KINDS -A --watch --output-watch-events -o json | ./scheduler NAME | sh
 *
 * KINDS are those of README.md; pods whose schedulerName is NAME are scheduled. It decides by
 * volumes, labels and taints alone. What a real scheduler adds: resources and the other plugins,
 * the limit of 600 s for binding, retries with backoff, several workers that write.
 */
#include <cephzone/scheduling.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 254

enum state { TO_BE_TRIED, REJECTED, VOLUMES_WANTED, POD_BOUND };

struct waiting {
    char ns[NAME_SIZE];
    char name[NAME_SIZE];
    enum state state;
    unsigned plugins;            /* that rejected it */
    struct czs_binding *binding; /* while volumes are wanted */
    struct waiting *next;
};

static struct waiting *queue;

/* A string of the object, "" if there is none. */
static const char *text_of(const json_t *object, const char *part, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, part), key));

    return text ? text : "";
}

static void complain(const char *what, char *error)
{
    fprintf(stderr, "%s: %s\n", what, error ? error : "failed");
    czs_text_free(error);
}

/* --- the queue --- */

static struct waiting **find_waiting(const char *ns, const char *name)
{
    struct waiting **at = &queue;

    while (*at && (strcmp((*at)->ns, ns) != 0 || strcmp((*at)->name, name) != 0))
        at = &(*at)->next;
    return at;
}

static void follow_pod(const json_t *pod, int is_gone, const char *scheduler)
{
    const char *ns = text_of(pod, "metadata", "namespace");
    const char *name = text_of(pod, "metadata", "name");
    struct waiting **at = find_waiting(ns, name);
    int is_ours = !is_gone && strcmp(text_of(pod, "spec", "schedulerName"), scheduler) == 0 &&
                  text_of(pod, "spec", "nodeName")[0] == '\0' &&
                  strcmp(text_of(pod, "status", "phase"), "Pending") == 0;

    if (*at && !is_ours) {
        struct waiting *done = *at;

        *at = done->next;
        czs_binding_free(done->binding);
        free(done);
    } else if (!*at && is_ours && (*at = calloc(1, sizeof(**at)))) {
        snprintf((*at)->ns, NAME_SIZE, "%s", ns);
        snprintf((*at)->name, NAME_SIZE, "%s", name);
    }
}

/* --- from a verdict to a node --- */

static void print_writes(const struct czs_binding *binding)
{
    for (size_t i = 0; i < czs_binding_writes(binding); i++) {
        const char *ns = czs_write_namespace(binding, i);

        printf("kubectl patch %s %s%s%s%s --type=merge -p '%s'\n", czs_write_kind(binding, i),
               czs_write_name(binding, i), ns[0] ? " -n '" : "", ns, ns[0] ? "'" : "",
               czs_write_patch(binding, i));
    }
}

static void choose_node(struct czs_cluster *cluster, struct waiting *pod)
{
    struct czs_check *check = NULL;
    char *error = NULL;
    size_t best = SIZE_MAX;

    if (czs_check_pod(cluster, pod->ns, pod->name, NULL, &check, &error) != CZS_OK) {
        complain("check", error);
        return;
    }
    for (size_t i = 0; i < czs_check_count(check); i++)
        if (czs_check_fits(check, i) &&
            (best == SIZE_MAX ||
             czs_check_score(check, i) + czs_check_preference(check, i) >
                 czs_check_score(check, best) + czs_check_preference(check, best)))
            best = i;
    pod->plugins = czs_check_plugins(check);
    pod->state = REJECTED;
    if (best == SIZE_MAX) {
        fprintf(stderr, "%s/%s: %s\n", pod->ns, pod->name, czs_check_summary(check));
    } else if (czs_assume(cluster, check, best, &pod->binding, &error) == CZS_OK) {
        print_writes(pod->binding);
        pod->state = VOLUMES_WANTED;
    } else {
        complain("assume", error);
    }
    czs_check_free(check);
}

/* When its volumes are bound the pod is: until the event of that, it stays assumed on the node. */
static void finish_binding(struct czs_cluster *cluster, struct waiting *pod)
{
    char *error = NULL;
    int progress = czs_bound(cluster, pod->binding, &error);

    if (progress == CZS_WAITING)
        return;
    if (progress == CZS_OK)
        printf("echo '{\"apiVersion\": \"v1\", \"kind\": \"Binding\", \"metadata\": {\"name\": "
               "\"%s\"}, \"target\": {\"kind\": \"Node\", \"name\": \"%s\"}}' | kubectl create "
               "--raw /api/v1/namespaces/%s/pods/%s/binding -f -\n",
               pod->name, czs_binding_node(pod->binding), pod->ns, pod->name);
    else if (czs_revert(cluster, pod->binding, NULL) == CZS_OK)
        complain("binding", error);
    czs_binding_free(pod->binding);
    pod->binding = NULL;
    pod->state = progress == CZS_OK ? POD_BOUND : TO_BE_TRIED;
}

/* --- events --- */

static void apply_change(struct czs_cluster *cluster, struct czs_change *change)
{
    char *error = NULL;

    for (struct waiting *pod = queue; pod; pod = pod->next)
        if (pod->state == REJECTED &&
            czs_change_may_help(cluster, change, pod->ns, pod->name, pod->plugins, NULL) == 1)
            pod->state = TO_BE_TRIED;
    if (czs_change_apply(cluster, change, &error) != CZS_OK)
        complain("apply", error);
    czs_change_free(change);
}

static void take_event(struct czs_cluster *cluster, const json_t *event, const char *scheduler)
{
    const char *type = json_string_value(json_object_get(event, "type"));
    const json_t *object = json_object_get(event, "object");
    const char *kind = json_string_value(json_object_get(object, "kind"));
    char *json = json_dumps(object ? object : event, JSON_COMPACT);
    int is_gone = type && strcmp(type, "DELETED") == 0;
    struct czs_change *change = NULL;
    char *error = NULL;

    if (json && kind && is_gone)
        czs_change_remove(kind, text_of(object, "metadata", "namespace"),
                          text_of(object, "metadata", "name"), &change, &error);
    else if (json)
        czs_change_put(json, strlen(json), &change, &error);
    if (change)
        apply_change(cluster, change);
    else
        complain("event", error);
    if (kind && strcmp(kind, "Pod") == 0)
        follow_pod(object, is_gone, scheduler);
    free(json);
}

int main(int argc, char **argv)
{
    struct czs_cluster *cluster = NULL;
    char *error = NULL;
    json_t *event = NULL;

    if (argc != 2 || czs_cluster_new(NULL, &cluster, &error) != CZS_OK)
        return fprintf(stderr, "usage: scheduler NAME\n"), 2;
    while ((event = json_loadf(stdin, JSON_DISABLE_EOF_CHECK, NULL))) {
        take_event(cluster, event, argv[1]);
        json_decref(event);
        for (struct waiting *pod = queue; pod; pod = pod->next) {
            if (pod->state == TO_BE_TRIED)
                choose_node(cluster, pod);
            if (pod->state == VOLUMES_WANTED)
                finish_binding(cluster, pod);
        }
        fflush(stdout);
    }
    while (queue) {
        struct waiting *done = queue;

        queue = done->next;
        czs_binding_free(done->binding);
        free(done);
    }
    czs_cluster_free(cluster);
    return 0;
}
