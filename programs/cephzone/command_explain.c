/* cephzone explain: why pods are pending, or where claims can go. The logic is in
 * common/scheduling/explain.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/explain_print.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/output.h"
#include "programs/cephzone/tool.h"

/* A pod or a claim. */
struct subject {
    bool is_pod;
    char *ns;
    char *name;
};

struct subjects {
    struct subject *items;
    size_t count;
};

static void subjects_done(struct subjects *subjects)
{
    for (size_t i = 0; i < subjects->count; i++)
        free_all(subjects->items[i].ns, subjects->items[i].name);
    free(subjects->items);
}

static void subjects_add(struct subjects *subjects, bool is_pod, const char *ns, const char *name)
{
    struct subject *subject = array_add(subjects->items, subjects->count);

    *subject = (struct subject){is_pod, xstrdup(ns), xstrdup(name)};
}

struct explain_flags {
    struct object_flags objects;
    const char *ns;
    bool everywhere;
    bool watch;
    struct string_list arguments;
    struct binding_options options;
};

/* --- what was asked for --- */

/* As kubectl names them. @length: of the kind in @word. */
static int parse_kind(const char *word, size_t length, bool *is_pod, struct error *err)
{
    static const struct {
        const char *name;
        bool is_pod;
    } kinds[] = {
        {"pod", true},
        {"pods", true},
        {"po", true},
        {"pvc", false},
        {"pvcs", false},
        {"persistentvolumeclaim", false},
        {"persistentvolumeclaims", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, word, length) == 0) {
            *is_pod = kinds[i].is_pod;
            return 0;
        }
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "'%.*s' is neither 'pod' nor 'pvc'; write 'pod NAME', 'pod/NAME', or 'pods' "
                     "for all that are pending",
                     (int)length, word);
}

/* "pod/NAME pvc/NAME ..." or "pod NAME ...", where the kind without a name means all of it. */
static int parse_subjects(const struct string_list *arguments, const char *ns, bool *is_pod,
                          struct subjects *subjects, struct error *err)
{
    *is_pod = true;
    if (arguments->count == 0)
        return 0;
    bool has_slash = strchr(arguments->items[0], '/') != NULL;
    if (!has_slash && parse_kind(arguments->items[0], strlen(arguments->items[0]), is_pod, err) < 0)
        return -1;
    for (size_t i = has_slash ? 0 : 1; i < arguments->count; i++) {
        const char *word = arguments->items[i];
        const char *slash = strchr(word, '/');

        if ((slash != NULL) != has_slash || (slash && slash[1] == '\0'))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "'%s': either all arguments are KIND/NAME, or the first is a kind and "
                             "the others are names",
                             word);
        if (slash && parse_kind(word, (size_t)(slash - word), is_pod, err) < 0)
            return -1;
        subjects_add(subjects, *is_pod, ns, slash ? slash + 1 : word);
    }
    return 0;
}

static int check_flags(void *values, struct error *err)
{
    struct explain_flags *flags = values;
    struct subjects subjects = {0};
    bool is_pod = true;

    int result = parse_subjects(&flags->arguments, "", &is_pod, &subjects, err);
    bool has_names = subjects.count > 0;
    subjects_done(&subjects);
    if (result < 0)
        return -1;
    if (has_names && flags->everywhere)
        return error_set(err, STATUS_INVALID_ARGUMENT, "a name and -A exclude each other");
    if (tool_check_output(flags->objects.output, TOOL_FORMATS("table", "wide", "json"), err) < 0)
        return -1;
    if (object_flags_options(&flags->objects, &flags->options, err) < 0)
        return -1;
    if (flags->objects.from[0] == '\0') /* a dump is as old as it is */
        flags->options.now = time(NULL);
    return 0;
}

static bool is_in(const struct kube_meta *meta, const char *ns)
{
    return !ns || strcmp(kube_or_empty(meta->ns), ns) == 0;
}

/* What waits for a node or a volume, in the namespace @ns, or everywhere if that is NULL. */
static void find_pending(const struct cluster_objects *cluster, bool is_pod, const char *ns,
                         struct subjects *subjects)
{
    for (size_t i = 0; is_pod && i < cluster_count(cluster, KUBE_POD); i++) {
        const struct kube_pod *pod = cluster_at(cluster, KUBE_POD, i);
        const char *phase = kube_or_empty(pod->phase);

        if (is_in(&pod->meta, ns) && text_is_empty(pod->node_name) &&
            (phase[0] == '\0' || strcmp(phase, "Pending") == 0))
            subjects_add(subjects, true, kube_or_empty(pod->meta.ns), pod->meta.name);
    }
    for (size_t i = 0; !is_pod && i < cluster_count(cluster, KUBE_PVC); i++) {
        const struct kube_pvc *claim = cluster_at(cluster, KUBE_PVC, i);

        if (is_in(&claim->meta, ns) && text_is_empty(claim->volume_name))
            subjects_add(subjects, false, kube_or_empty(claim->meta.ns), claim->meta.name);
    }
}

/* --- what is printed --- */

struct explain_run {
    const struct explain_flags *flags;
    bool is_list; /* one line for each */
    struct columns columns;
    json_t *json; /* array; NULL: no JSON */
    bool all_fit;
};

static void print_subject(struct explain_run *run, const struct subject *subject,
                          const struct explanation *explanation, bool is_single, FILE *file)
{
    const char *kind = subject->is_pod ? "pod" : "pvc";

    if (run->json) {
        json_t *json = explain_to_json(explanation);

        json_object_set_new(json, "kind", json_string(kind));
        json_object_set_new(json, "namespace", json_string(subject->ns));
        json_object_set_new(json, "name", json_string(subject->name));
        json_array_append_new(run->json, json);
    } else if (run->is_list) {
        columns_add(&run->columns, subject->ns);
        columns_add(&run->columns, subject->name);
        columns_add(&run->columns, explanation->headline);
    } else {
        if (!is_single)
            fprintf(file, "%s/%s in namespace '%s':\n", kind, subject->name, subject->ns);
        explain_print_table(explanation, strcmp(run->flags->objects.output, "wide") == 0, file);
        if (!is_single)
            fputc('\n', file);
    }
}

static int explain_subjects(struct explain_run *run, struct cluster_objects *cluster,
                            const struct subjects *subjects, FILE *file, struct error *err)
{
    for (size_t i = 0; i < subjects->count; i++) {
        const struct subject *subject = &subjects->items[i];
        _cleanup_explanation_ struct explanation explanation = {0};

        if ((subject->is_pod ? explain_pod : explain_claim)(
                cluster, &run->flags->options, subject->ns, subject->name, &explanation, err) < 0)
            return -1;
        run->all_fit &= explanation.fitting > 0;
        print_subject(run, subject, &explanation, subjects->count == 1 && !run->is_list, file);
    }
    return 0;
}

static void print_rest(struct explain_run *run, const struct subjects *subjects, bool is_pod,
                       const char *ns, FILE *file)
{
    if (run->json) {
        output_json(subjects->count == 1 && !run->is_list
                        ? json_incref(json_array_get(run->json, 0))
                        : json_incref(run->json),
                    file);
    } else if (subjects->count == 0) {
        fprintf(file, "no %s is pending", is_pod ? "pod" : "claim");
        if (ns)
            fprintf(file, " in namespace '%s'; -A looks at all namespaces", ns);
        fputc('\n', file);
    } else if (run->is_list) {
        columns_write(&run->columns, file);
    }
}

/* All of one look at the cluster. */
static int print_explanation(void *object, FILE *file, struct error *err)
{
    static const char *const titles[] = {"NAMESPACE", "NAME", "WHY"};
    const struct explain_flags *flags = object;
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_(subjects_done) struct subjects subjects = {0};
    _cleanup_free_ char *ns = flags->ns[0] ? xstrdup(flags->ns) : NULL;
    bool is_json = strcmp(flags->objects.output, "json") == 0;
    bool is_pod = true;

    if ((!ns && objects_namespace(&flags->objects, &ns, err) < 0) ||
        objects_get(&flags->objects, &cluster, err) < 0 ||
        parse_subjects(&flags->arguments, ns, &is_pod, &subjects, err) < 0)
        return TOOL_BLIND;
    cluster.rules = flags->options.rules;
    bool is_list = subjects.count == 0;
    const char *looked_at = flags->everywhere ? NULL : ns;
    if (is_list)
        find_pending(&cluster, is_pod, looked_at, &subjects);
    json_auto_t *json = is_json ? json_array() : NULL;
    struct explain_run run = {
        .flags = flags,
        .is_list = is_list && strcmp(flags->objects.output, "wide") != 0,
        .columns = {.has_dashes = true},
        .json = json,
        .all_fit = true,
    };
    columns_add_titles(&run.columns, titles, ARRAY_LENGTH(titles));
    int result = explain_subjects(&run, &cluster, &subjects, file, err);
    if (result == 0)
        print_rest(&run, &subjects, is_pod, looked_at, file);
    columns_done(&run.columns);
    return result < 0 ? TOOL_BLIND : run.all_fit ? 0 : TOOL_FOUND;
}

static int run_explain(void *values)
{
    const struct explain_flags *flags = values;

    return tool_follow("explain", flags->watch, print_explanation, values);
}

static const char HELP[] =
    "Usage: cephzone explain pod/NAME... | pvc/NAME... [flags]\n"
    "       cephzone explain [pods | pvc] [-A] [flags]\n\n"
    "Reports per node whether the pod's volumes can be had there, why not, and what would\n"
    "help; the first line names the cause. Without a name: one line for each pod or claim that\n"
    "is pending. Exit code: 0 each fits somewhere, 1 one fits nowhere, 2 bad command line, 3\n"
    "the cluster could not be read.\n\n"
    "  kubectl cephzone explain pod/web-0 -n shop\n"
    "  kubectl cephzone explain pods -A -w\n\n"
    "Without access to the cluster, from a dump:\n\n"
    "  kubectl get nodes,pv,pvc,pods,sc,csidrivers,csinodes,csistoragecapacities,\\\n"
    "      volumeattachments -A -o json >cluster.json\n"
    "  cephzone explain pod web-0 -n shop --from=cluster.json\n";

int command_explain(int argc, char **argv)
{
    struct explain_flags values = {.objects = {.output = "table"}};
    const struct flag flags[] = {
        OBJECT_SOURCE_FLAGS(values.objects),
        TOOL_NAMESPACE_FLAGS(values.ns, "of the pods or claims; by default that of the kubeconfig"),
        {"A", FLAG_BOOL, &values.everywhere, NULL, NULL},
        {"all-namespaces", FLAG_BOOL, &values.everywhere, NULL, "what is pending in all of them"},
        {"w", FLAG_BOOL, &values.watch, NULL, NULL},
        {"watch", FLAG_BOOL, &values.watch, NULL, "print it again when it changes"},
        TOOL_OUTPUT_FLAGS(values.objects.output, "table|wide|json"),
        OBJECT_RULES_FLAGS(values.objects),
    };
    const struct tool_command command = {.name = "explain",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .arguments = &values.arguments,
                                         .words = TOOL_WORDS("pod", "pods", "pvc"),
                                         .check = check_flags,
                                         .run = run_explain};

    int code = tool_run(&command, argc, argv);
    string_list_done(&values.arguments);
    return code;
}
