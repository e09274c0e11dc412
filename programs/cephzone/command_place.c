/*
 * cephzone place: what CreateVolume would do with a volume of a class, and why. The decision is
 * that of common/topology, with the figures of a live cluster, with free space given by hand, or
 * both: what is given by hand wins. Without either, every pool is taken to have enough.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/topology/hierarchy.h"
#include "common/volume/size.h"
#include "controller/place_pools.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/clusters.h"
#include "programs/cephzone/output.h"
#include "programs/cephzone/place_terms.h"

#define OUTPUT_LIMIT ((size_t)16 << 20)

struct place_flags {
    struct tool_flags tool;
    const char *class_name;
    const char *size;
    const char *volume_name;
    struct string_list topologies;
    struct string_list node_labels;
    const char *nodes;
    struct string_list rooms;
    struct string_list volumes;
};

/* A figure of a pool that was given by hand: --room or --volumes. */
struct given_figure {
    const char *text; /* POOL=VALUE; borrowed */
    char *pool;
    uint64_t value;
};

struct given_figures {
    struct given_figure *items;
    size_t count;
};

struct place_run {
    struct place_flags *flags;
    struct clusters clusters; /* unused unless is_live */
    bool is_live;
    uint64_t size_bytes;
    struct given_figures rooms;
    struct given_figures volumes;
    struct topology_levels levels;
    struct topology_requirement requirement;
    struct tool_takeover takeover;
    struct storage_class_dump dump;
    struct storage_class *class;
    struct pool_entries found; /* of a class that finds its pools, or its one pool */
    const struct pool_entries *entries;
    struct placement_candidate *candidates;
    struct placement_request request;
    struct decision decision;
    struct strmap segments; /* what the volume is pinned to */
};

/* --- the question --- */

static int read_given(const struct string_list *list, const char *flag, bool is_size,
                      struct given_figures *given, struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i];
        const char *equals = strrchr(text, '=');
        uint64_t value = 0;

        if (!equals || equals == text || equals[1] == '\0')
            return error_set(err, STATUS_INVALID_ARGUMENT, "%s takes POOL=%s, not '%s'", flag,
                             is_size ? "SIZE" : "NUMBER", text);
        if ((is_size ? tool_parse_size : text_parse_u64)(equals + 1, &value, err) < 0)
            return error_wrap(err, "%s '%s'", flag, text);
        *array_add(given->items, given->count) =
            (struct given_figure){text, xstrndup(text, (size_t)(equals - text)), value};
    }
    return 0;
}

/* The size that the driver would give to a volume of that request. */
static int read_size(struct place_run *run, struct error *err)
{
    const struct place_flags *flags = run->flags;
    const bool is_cephfs = storage_class_is_cephfs(flags->tool.driver);
    struct capacity_range range = {0};
    uint64_t bytes = 0;

    if (tool_parse_size(flags->size, &bytes, err) < 0)
        return -1;
    if (bytes == 0 || bytes > INT64_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "a volume of %llu bytes",
                         (unsigned long long)bytes);
    range.required_bytes = (int64_t)bytes;
    return (is_cephfs ? capacity_range_choose_cephfs
                      : capacity_range_choose)(&range, &run->size_bytes, err);
}

static int read_flags(struct place_run *run, struct error *err)
{
    const struct place_flags *flags = run->flags;
    const struct tool_flags *tool = &flags->tool;
    bool is_live = tool->config[0] || tool->keyring[0] || tool->secrets[0];

    if ((is_live && tool_check_cluster(tool, err) < 0) ||
        tool_check_output(tool->output, TOOL_FORMATS("table", "json", "line"), err) < 0 ||
        read_given(&flags->rooms, "--room", true, &run->rooms, err) < 0 ||
        read_given(&flags->volumes, "--volumes", false, &run->volumes, err) < 0 ||
        tool_check_classes(tool, err) < 0)
        return -1;
    if ((flags->nodes[0] || flags->node_labels.count) && tool->domain_labels[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--domainlabels must say which labels of a node define its place");
    if (read_size(run, err) < 0)
        return error_wrap(err, "--size");
    if (topology_levels_parse(tool->driver, tool->domain_labels, &run->levels, err) < 0)
        return error_wrap(err, "--domainlabels");
    run->is_live = is_live;
    return 0;
}

static int read_terms(struct place_run *run, struct error *err)
{
    const struct place_flags *flags = run->flags;

    for (size_t i = 0; i < flags->topologies.count; i++)
        if (terms_add_text(&run->levels, flags->topologies.items[i], &run->requirement, err) < 0)
            return -1;
    for (size_t i = 0; i < flags->node_labels.count; i++)
        if (terms_add_labels(&run->levels, flags->node_labels.items[i], &run->requirement, err) < 0)
            return -1;
    if (flags->nodes[0])
        return terms_add_nodes(&run->levels, flags->nodes, &run->requirement, err);
    return 0;
}

static int refuse_class_name(const struct place_run *run, struct error *err)
{
    const char *name = run->flags->class_name;
    struct nearest nearest = NEAREST_INIT(name);
    _cleanup_text_ struct text names = TEXT_INIT(4096);

    for (size_t i = 0; i < run->dump.count; i++) {
        text_addf(&names, "%s'%s'", i ? ", " : "", run->dump.items[i].name);
        nearest_offer(&nearest, run->dump.items[i].name);
    }
    if (name[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--class must name one of %s",
                         text_chars(&names));
    error_set(err, STATUS_NOT_FOUND, "there is no class '%s'; there are %s", name,
              text_chars(&names));
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
}

static int choose_class(struct place_run *run, struct error *err)
{
    const struct place_flags *flags = run->flags;

    if (storage_class_dump_load(flags->tool.classes, flags->tool.driver, &run->dump, err) < 0)
        return -1;
    if (run->dump.count == 0 || !run->dump.items)
        return error_set(err, STATUS_NOT_FOUND, "no class in '%s' has the provisioner '%s'",
                         flags->tool.classes, flags->tool.driver);
    for (size_t i = 0; i < run->dump.count; i++)
        if (flags->class_name[0] ? strcmp(run->dump.items[i].name, flags->class_name) == 0
                                 : run->dump.count == 1)
            run->class = &run->dump.items[i];
    return run->class ? 0 : refuse_class_name(run, err);
}

/* --- the pools --- */

/* As CreateVolume does it; without a cluster only the flag knows the order of levels. */
static void order_pools(struct place_run *run, struct pool_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        const char *cluster_id = class_pools_cluster(&run->class->pools, &entries->items[i]);
        const struct asked_cluster *cluster =
            run->is_live ? clusters_find(&run->clusters, cluster_id) : NULL;
        _cleanup_string_list_ struct string_list types = {0};

        if (cluster && !cluster->failed)
            crush_list_types(&cluster->usage.crush, &types);
        pool_entry_order(&entries->items[i], &(struct hierarchy){&run->levels, &types});
    }
}

/* The pools among which CreateVolume would choose. */
static int collect_pools(struct place_run *run, struct error *err)
{
    const struct class_pools *class = &run->class->pools;
    _cleanup_string_list_ struct string_list levels = {0};

    run->entries = &run->found;
    if (!class_pools_want_place(class, &run->requirement)) {
        struct pool_entry plain =
            run->is_live ? clusters_plain(&run->clusters, class) : class_pools_plain(class, NULL);

        pool_entries_add(&run->found, &plain);
        return 0;
    }
    if (class->is_auto && !run->is_live)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "the class finds its pools in the cluster (topologyPools: auto): --config "
                         "is needed");
    place_levels(&run->requirement, &levels);
    run->entries =
        clusters_entries(&run->clusters, class, levels.count ? &levels : NULL, &run->found);
    order_pools(run, run->entries == &run->found ? &run->found : &run->class->pools.entries);
    if (run->clusters.code == TOOL_BLIND && run->entries->count == 0)
        return error_set(err, STATUS_UNAVAILABLE, "the pools of the class are not known");
    return run->entries->count ? 0 : class_pools_refuse_none(class, err);
}

static int ask_room(struct place_run *run, size_t index, struct error *err)
{
    const struct class_pools *class = &run->class->pools;
    const struct pool_entry *entry = &run->entries->items[index];
    const struct asked_cluster *cluster =
        clusters_find(&run->clusters, class_pools_cluster(class, entry));
    struct placement_candidate *candidate = &run->candidates[index];
    const struct cluster_pool *pool = NULL;
    struct pool_provision provision = {0};

    if (cluster->failed)
        return 0;
    if (class_pools_look_up(class, entry, index, &cluster->usage, &pool, err) < 0)
        return -1;
    if (class_pools_need_volumes(class))
        provision = clusters_count_volumes(&run->clusters, class, entry, class->overcommit > 0);
    candidate->volumes = provision.volumes;
    candidate->space = free_space_of_pool(&pool->usage, &provision, class->overcommit);
    return 0;
}

/* The last one counts; NULL if there is none. */
static const struct given_figure *find_given(const struct given_figures *given, const char *pool)
{
    for (size_t i = given->count; i > 0; i--)
        if (strcmp(given->items[i - 1].pool, pool) == 0)
            return &given->items[i - 1];
    return NULL;
}

/* A pool that is given by hand and not among those of the class is a typing error. */
static int check_given(const struct place_run *run, const struct given_figures *given,
                       const char *flag, struct error *err)
{
    for (size_t i = 0; i < given->count; i++) {
        struct nearest nearest = NEAREST_INIT(given->items[i].pool);
        bool is_known = false;

        for (size_t j = 0; j < run->entries->count; j++) {
            is_known |= strcmp(run->entries->items[j].pool, given->items[i].pool) == 0;
            nearest_offer(&nearest, run->entries->items[j].pool);
        }
        if (is_known)
            continue;
        error_set(err, STATUS_INVALID_ARGUMENT, "%s '%s': no pool of that name comes into question",
                  flag, given->items[i].text);
        return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
    }
    return 0;
}

static int collect_candidates(struct place_run *run, struct error *err)
{
    bool wants_place = class_pools_want_place(&run->class->pools, &run->requirement);

    run->candidates = xcalloc(run->entries->count + 1, sizeof(*run->candidates));
    for (size_t i = 0; i < run->entries->count; i++) {
        const struct pool_entry *entry = &run->entries->items[i];
        const struct given_figure *room = find_given(&run->rooms, entry->pool);
        const struct given_figure *volumes = find_given(&run->volumes, entry->pool);
        struct placement_candidate *candidate = &run->candidates[i];

        *candidate =
            (struct placement_candidate){.entry = entry, .space = {.remark = "room unknown"}};
        /* the only pool of a class is used whatever its free space */
        if (wants_place && run->takeover.map && takeover_find_pool(run->takeover.map, entry))
            candidate->refusal = PLACE_TAKEN_OVER;
        if (run->is_live && wants_place && ask_room(run, i, err) < 0)
            return -1;
        if (volumes)
            candidate->volumes = volumes->value;
        if (room)
            candidate->space =
                (struct free_space){.is_known = true, .bytes = room->value, .remark = ""};
    }
    return 0;
}

static int decide_place(struct place_run *run, struct error *err)
{
    const struct class_pools *class = &run->class->pools;

    if (collect_candidates(run, err) < 0)
        return -1;
    run->request = (struct placement_request){
        .volume_name = run->flags->volume_name,
        .size_bytes = run->size_bytes,
        .requirement = &run->requirement,
        .candidates = run->candidates,
        .count = run->entries->count,
        .policy = class->policy,
        .has_overcommit = class->overcommit > 0,
        .immediate = class->immediate,
        .may_be_anywhere = class->may_be_anywhere,
    };
    if (placement_decide(&run->request, &run->decision, err) < 0)
        return -1;
    return placement_pin(&run->decision, run->levels.prefix, class->pinning, &run->segments, err);
}

/* --- printing --- */

static const struct pool_entry *chosen_entry(const struct place_run *run)
{
    return &run->entries->items[run->decision.chosen];
}

static void print_json(const struct place_run *run, const struct error *failure)
{
    json_t *json = run->decision.request ? decision_to_json(&run->decision) : json_object();
    json_t *segments = json_from_strmap(&run->segments);

    json_object_update_new(json,
                           json_pack("{s:s, s:s, s:s?}", "class", run->class->name, "status",
                                     status_name(failure->status), "message", failure->message));
    if (failure->status == STATUS_OK) {
        const struct pool_entry *entry = chosen_entry(run);
        const struct class_pools *class = &run->class->pools;

        json_object_update_new(json, json_pack("{s:s, s:s?, s:s?}", "clusterID",
                                               class_pools_cluster(class, entry), "dataPool",
                                               entry->data_pool, "fsName",
                                               class_pools_filesystem(class, entry)));
    }
    json_object_set_new(json, "accessibleTopology", segments);
    output_json(json, stdout);
}

static void print_outcome(const struct place_run *run, const struct error *failure)
{
    if (failure->status != STATUS_OK) {
        printf("CreateVolume would answer %s: %s\n", status_name(failure->status),
               failure->message);
        return;
    }
    const struct pool_entry *entry = chosen_entry(run);
    const char *fs_name = class_pools_filesystem(&run->class->pools, entry);
    printf("CreateVolume would use %spool '%s' of ", fs_name ? "data " : "", entry->pool);
    if (fs_name)
        printf("file system '%s' of ", fs_name);
    printf("cluster '%s'", class_pools_cluster(&run->class->pools, entry));
    if (entry->data_pool)
        printf(" with data pool '%s'", entry->data_pool);
    if (run->segments.count == 0) {
        puts("; any node may use the volume.");
        return;
    }
    puts("; nodes may use the volume that have:");
    for (size_t i = 0; i < run->segments.count; i++)
        printf("  %s: %s\n", run->segments.entries[i].key, run->segments.entries[i].value);
    if (entry->is_unordered && run->segments.count > 1)
        puts("Which of these levels is the deepest is not known, so that no takeover covers the "
             "volume: give --domainlabels, outermost first.");
}

static void print_answer(const struct place_run *run, const struct error *failure)
{
    _cleanup_text_ struct text out = TEXT_INIT(OUTPUT_LIMIT);

    if (tool_prints_json(&run->flags->tool)) {
        print_json(run, failure);
    } else if (strcmp(run->flags->tool.output, "line") == 0) {
        if (failure->status == STATUS_OK)
            decision_print_line(&run->decision, &out);
        else
            text_addf(&out, "%s: %s", status_name(failure->status), failure->message);
        puts(text_chars(&out));
    } else {
        if (run->decision.request) {
            decision_print_table(&run->decision, &out);
            puts(text_chars(&out));
        }
        print_outcome(run, failure);
    }
}

/* --- the run --- */

/* What CreateVolume would answer, in @answer. The exit code if it cannot be known, else 0. */
static int find_answer(struct place_run *run, struct error *answer)
{
    _cleanup_error_ struct error err = {0};

    if (run->class->fault) {
        error_set(answer, STATUS_INVALID_ARGUMENT, "%s", run->class->fault);
        return 0;
    }
    if (collect_pools(run, answer) < 0) {
        /* these two are ours, not CreateVolume's */
        bool is_blind =
            answer->status == STATUS_FAILED_PRECONDITION || answer->status == STATUS_UNAVAILABLE;
        return is_blind ? tool_fail("place", TOOL_BLIND, answer) : 0;
    }
    if (check_given(run, &run->rooms, "--room", &err) < 0 ||
        check_given(run, &run->volumes, "--volumes", &err) < 0)
        return tool_fail("place", TOOL_USAGE, &err);
    int ignored = decide_place(run, answer);
    (void)ignored; /* the answer has it */
    return 0;
}

static int print_place(struct place_run *run)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_error_ struct error answer = {0};
    struct tool_flags *tool = &run->flags->tool;

    if (read_flags(run, &err) < 0)
        return tool_fail("place", TOOL_USAGE, &err);
    if (read_terms(run, &err) < 0)
        return tool_fail("place", err.status == STATUS_INVALID_ARGUMENT ? TOOL_USAGE : TOOL_BLIND,
                         &err);
    if ((run->is_live && clusters_open(&run->clusters, "place", tool, &err) < 0) ||
        tool_read_takeover(tool->takeover, run->clusters.config, &run->takeover, &err) < 0 ||
        choose_class(run, &err) < 0)
        return tool_fail("place", TOOL_BLIND, &err);
    int code = find_answer(run, &answer);
    if (code)
        return code;
    print_answer(run, &answer);
    return answer.status == STATUS_OK ? run->clusters.code : TOOL_FOUND;
}

static void given_done(struct given_figures *given)
{
    for (size_t i = 0; i < given->count; i++)
        free(given->items[i].pool);
    free(given->items);
}

static int run_place(void *values)
{
    struct place_run run = {.flags = values};
    int code = print_place(&run);

    decision_done(&run.decision);
    tool_takeover_done(&run.takeover);
    strmap_done(&run.segments);
    free(run.candidates);
    pool_entries_done(&run.found);
    storage_class_dump_done(&run.dump);
    topology_requirement_done(&run.requirement);
    topology_levels_done(&run.levels);
    given_done(&run.rooms);
    given_done(&run.volumes);
    return clusters_close(&run.clusters, code);
}

static void lists_done(struct place_flags *flags)
{
    string_list_done(&flags->topologies);
    string_list_done(&flags->node_labels);
    string_list_done(&flags->rooms);
    string_list_done(&flags->volumes);
}

static const char HELP[] =
    "Usage: cephzone place --classes=FILE [--class=NAME] [--topology=PLACE]... [flags]\n\n"
    "Prints what CreateVolume would do with a volume of a class, and why.\n"
    "Exit code: 0 there is a pool, 1 CreateVolume would refuse, 2 bad command line, 3 a file\n"
    "or cluster could not be read.\n\n"
    "  cephzone place --classes=class.yaml --size=10Gi --topology=zone=zone-a \\\n"
    "      --config=config.json --keyring=/etc/ceph/keyring\n"
    "  cephzone place --classes=class.yaml --topology=zone=zone-a --topology=zone=zone-b \\\n"
    "      --room=pool-a=0 --room=pool-b=50Gi\n"
    "  kubectl get node n1 -o yaml >node.yaml\n"
    "  cephzone place --classes=class.yaml --node=node.yaml \\\n"
    "      --domainlabels=topology.kubernetes.io/region,topology.kubernetes.io/zone\n";

int command_place(int argc, char **argv)
{
    _cleanup_(lists_done) struct place_flags values = {
        .tool = TOOL_FLAGS_INIT(TOOL_TIMEOUT_MS), .size = "1Gi", .volume_name = "pvc-1"};
    const struct flag flags[] = {
        {"classes", FLAG_STRING, &values.tool.classes, "FILE", "StorageClasses, JSON or YAML"},
        {"class", FLAG_STRING, &values.class_name, "NAME", "which of them, if there are several"},
        {"size", FLAG_STRING, &values.size, "SIZE", "of the volume"},
        {"name", FLAG_STRING, &values.volume_name, "NAME",
         "of the volume: free-space gives the same name the same pool"},
        {"topology", FLAG_STRING_LIST, &values.topologies, "PLACE",
         "wanted place, region=r1,zone=z1; several in order of preference"},
        {"node-labels", FLAG_STRING_LIST, &values.node_labels, "LABELS",
         "labels of a node, instead of --topology"},
        {"node", FLAG_STRING, &values.nodes, "FILE",
         "output of 'kubectl get node -o json' or -o yaml, instead of --topology"},
        {"domainlabels", FLAG_STRING, &values.tool.domain_labels, "LABELS",
         "the driver's flag: which labels of a node define its place"},
        {"room", FLAG_STRING_LIST, &values.rooms, "POOL=SIZE",
         "free space of a pool, given by hand"},
        {"volumes", FLAG_STRING_LIST, &values.volumes, "POOL=N",
         "number of volumes in a pool, given by hand"},
        {"takeover-file", FLAG_STRING, &values.tool.takeover, "FILE",
         "the driver's flag: the takeover map; else that of --config"},
        {"config", FLAG_STRING, &values.tool.config, "FILE",
         "the driver's config.json: asks the clusters for their free space"},
        {"secrets", FLAG_STRING, &values.tool.secrets, "FILE", "JSON file with userID and userKey"},
        {"keyring", FLAG_STRING, &values.tool.keyring, "FILE",
         "Ceph keyring, instead of --secrets"},
        CLUSTERS_CLASS_FLAGS(values.tool, "table|json|line"),
    };
    const struct tool_command command = {.name = "place",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .run = run_place};

    return tool_run(&command, argc, argv);
}
