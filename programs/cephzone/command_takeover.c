/*
 * cephzone takeover: shows and changes the map in the ConfigMap, which the driver's controller
 * follows. What it would do comes from the same plan that the controller makes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/flags.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/takeover_configmap.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"
#include "common/kube/kube_client.h"
#include "controller/takeover/takeover.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/tool.h"

#define CALL_MS 60000
#define ROUNDS_MAX 10000 /* of a plan, each a few evictions */

struct takeover_command {
    struct string_list arguments;
    const char *action; /* start, status, giveback */
    const char *domain; /* "" for status */
    struct tool_flags tool;
    const char *kubeconfig;
    const char *context;
    const char *name_space;
    const char *driver;
    const char *to;
    const char *fence;
    const char *type;
    bool dry_run;
    bool watch;
    /* made from that */
    struct kube *kube;
    char *notes_namespace;
    char *collection;  /* of ConfigMaps */
    char *path;        /* of ours */
    json_t *map_json;  /* the map as it is or shall be */
    char *version;     /* of the ConfigMap; NULL: there is none */
    struct ceph *ceph; /* NULL: fences are not read */
    struct config_file *config;
    struct standing_credentials *standing;
    struct fences fences;
    struct client_records records;
};

/* --- the map --- */

static int connect_kube(struct takeover_command *command, struct error *err)
{
    _cleanup_kube_config_ struct kube_config config = {0};

    if (kube_config_load(command->kubeconfig, command->context, &config, err) < 0)
        return -1;
    struct kube_location location = {.api = "v1",
                                     .resource = "configmaps",
                                     .name_space = command->name_space[0] ? command->name_space
                                                                          : config.name_space};
    command->notes_namespace = xstrdup(location.name_space);
    if (kube_path(&location, &command->collection, err) < 0)
        return -1;
    location.name = TAKEOVER_CONFIGMAP;
    if (kube_path(&location, &command->path, err) < 0)
        return -1;
    command->kube = kube_client_new(&config);
    return 0;
}

static int read_map(struct takeover_command *command, struct call *call, struct error *err)
{
    json_auto_t *item = NULL;

    if (command->kube->ops->get(command->kube, call, command->path, &item, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err);
        command->map_json = json_object();
        return 0;
    }
    command->version = xstrdup(kube_resource_version(item));
    const char *text = kube_text(item, "data", TAKEOVER_CONFIGMAP_KEY, NULL);
    if (text[0] == '\0')
        command->map_json = json_object();
    else if (json_load_text(text, strlen(text), TAKEOVER_CONFIGMAP, &command->map_json, err) < 0)
        return -1;
    return 0;
}

/* The entry of the domain, with its level or without; NULL if there is none. */
static const char *find_entry(const struct takeover_command *command)
{
    const char *equals = strchr(command->domain, '=');
    const char *bare = equals ? equals + 1 : command->domain;
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(command->map_json, key, value)
    {
        const char *other = strchr(key, '=');

        if (strcmp(key, command->domain) == 0 || (!other && strcmp(key, bare) == 0) ||
            (!equals && other && strcmp(other + 1, bare) == 0))
            return key;
    }
    return NULL;
}

/* "zone=zone-a" for "zone-a", by the nodes that there are now: once they are deleted nobody can
 * tell. Caller frees. */
static int complete_domain(const struct takeover_command *command, struct call *call, char **whole,
                           struct error *err)
{
    _cleanup_cluster_nodes_ struct cluster_nodes nodes = {0};
    _cleanup_free_ char *prefix = xasprintf("topology.%s", command->driver);
    _cleanup_free_ char *level = NULL;

    if (strchr(command->domain, '=')) {
        *whole = xstrdup(command->domain);
        return 0;
    }
    if (cluster_nodes_read(command->kube, call, command->driver, &nodes, err) < 0 ||
        takeover_level_of(prefix, &nodes, command->domain, &level, err) < 0) {
        error_wrap(err, "which level '%s' is of is not clear", command->domain);
        return error_hint(err, "write LEVEL=%s, zone=%s for example", command->domain,
                          command->domain);
    }
    *whole = xasprintf("%s=%s", level, command->domain);
    return 0;
}

static int change_map(struct takeover_command *command, struct call *call, struct error *err)
{
    const char *entry = find_entry(command);
    _cleanup_free_ char *whole = NULL;

    if (strcmp(command->action, "status") == 0)
        return 0;
    if (strcmp(command->action, "giveback") == 0) {
        if (!entry)
            return error_set(err, STATUS_NOT_FOUND, "'%s' is not being taken over",
                             command->domain);
        return json_object_del(command->map_json, entry);
    }
    if (!entry && complete_domain(command, call, &whole, err) < 0)
        return -1;
    _cleanup_free_ char *copy = xstrdup(command->to);
    json_t *targets = json_array();
    char *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        json_array_append_new(targets, json_string(text_trim(word)));
    if (strcmp(command->fence, "none") == 0)
        targets = json_pack("{s:o, s:s}", "to", targets, "fence", "none");
    json_object_set_new(command->map_json, entry ? entry : whole, targets);
    return 0;
}

static int write_map(struct takeover_command *command, struct call *call, struct error *err)
{
    _cleanup_free_ char *text = json_dumps(command->map_json, JSON_INDENT(2));
    struct kube *kube = command->kube;

    if (command->version) {
        json_auto_t *changes = json_pack("{s:{s:s}, s:{s:s}}", "metadata", "resourceVersion",
                                         command->version, "data", TAKEOVER_CONFIGMAP_KEY, text);
        return kube->ops->patch(kube, call, command->path, changes, NULL, err);
    }
    json_auto_t *item =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                  "metadata", "name", TAKEOVER_CONFIGMAP, "data", TAKEOVER_CONFIGMAP_KEY, text);
    return kube->ops->create(kube, call, command->collection, item, NULL, err);
}

/* --- the plan --- */

static int connect_ceph(struct takeover_command *command, struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};

    if (command->tool.config[0] == '\0')
        return 0;
    if (tool_check_cluster(&command->tool, err) < 0 ||
        tool_read_credentials(&command->tool, &credentials, err) < 0)
        return -1;
    command->config = config_file_new(command->tool.config);
    command->standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &credentials});
    if (!command->ceph)
        command->ceph = ceph_new(&(struct ceph_options){.connect_timeout_ms = CALL_MS / 2,
                                                        .mon_op_timeout_ms = CALL_MS / 2,
                                                        .osd_op_timeout_ms = CALL_MS / 2});
    command->fences = (struct fences){command->ceph, command->config, command->standing};
    command->records = (struct client_records){
        .ceph = command->ceph,
        .config = command->config,
        .standing = command->standing,
        .instance_id = command->tool.instance,
        .is_cephfs = strcmp(command->type, "cephfs") == 0,
    };
    return 0;
}

static void print_domains(const struct takeover_plan *plan, FILE *file)
{
    for (size_t i = 0; i < plan->domain_count; i++) {
        const struct takeover_progress *domain = &plan->domains[i];

        fprintf(file, "%-8s %-9s %s: %s\n", domain->is_giveback ? "giveback" : "takeover",
                domain->is_done      ? "done"
                : domain->is_blocked ? "blocked"
                                     : "under way",
                domain->domain, domain->explanation);
    }
}

/* Prints the steps of a plan and all that would follow. @look ends with the last plan. */
static size_t print_steps(const struct takeover_site *site, const struct takeover_map *map,
                          struct takeover_scan *look, FILE *file)
{
    size_t number = 0;

    for (int round = 0; round < ROUNDS_MAX && look->plan.count > 0; round++) {
        for (size_t i = 0; i < look->plan.count; i++) {
            _cleanup_free_ char *text = takeover_step_text(&look->plan.steps[i]);

            fprintf(file, "%3zu. %s: %s\n", ++number, look->plan.steps[i].domain, text);
        }
        for (size_t i = 0; i < look->plan.count; i++)
            takeover_step_assume(&look->plan.steps[i], &look->nodes, &look->fenced, &look->pods);
        takeover_scan_plan(site, map, look);
    }
    return number;
}

/* Exit code: 0 if all can go on, TOOL_FOUND if something is in the way. */
static int show_plan(struct takeover_command *command, struct call *call, FILE *file,
                     struct error *err)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};
    _cleanup_takeover_scan_ struct takeover_scan look = {0};
    const struct takeover_site site = {.kube = command->kube,
                                       .driver_name = command->driver,
                                       .name_space = command->notes_namespace,
                                       .own_node = "",
                                       .looks_ahead = command->dry_run,
                                       .fences = command->ceph ? &command->fences : NULL,
                                       .records = command->ceph ? &command->records : NULL};
    int code = 0;

    if (takeover_map_decode(command->map_json, &map, err) < 0 ||
        takeover_scan_read(&site, call, &map, &look, err) < 0)
        return -1;
    if (strcmp(command->action, "status") == 0)
        print_domains(&look.plan, file);
    else if (print_steps(&site, &map, &look, file) == 0 || look.plan.domain_count > 0)
        print_domains(&look.plan, file);
    for (size_t i = 0; i < look.plan.domain_count; i++)
        code |= look.plan.domains[i].is_blocked ? TOOL_FOUND : 0;
    if (look.plan.domain_count == 0)
        fputs("no domain is taken over\n", file);
    return code;
}

/* --- the command --- */

static int read_action(struct takeover_command *command, struct error *err)
{
    const struct string_list *arguments = &command->arguments;
    bool is_status = arguments->count > 0 && strcmp(arguments->items[0], "status") == 0;

    if (arguments->count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "expected 'status', 'start DOMAIN' or 'giveback DOMAIN'");
    command->action = arguments->items[0];
    if (!is_status && strcmp(command->action, "start") != 0 &&
        strcmp(command->action, "giveback") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is none of start, status and giveback",
                         command->action);
    if (!is_status && arguments->count < 2)
        return error_set(err, STATUS_INVALID_ARGUMENT, "the domain is missing");
    if (arguments->count > (is_status ? 1 : 2))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is one argument too many",
                         arguments->items[is_status ? 1 : 2]);
    command->domain = is_status ? "" : arguments->items[1];
    return 0;
}

static int check_flags(void *values, struct error *err)
{
    struct takeover_command *command = values;

    if (read_action(command, err) < 0)
        return -1;
    if (strcmp(command->action, "start") == 0 && command->to[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--to is missing");
    if (strcmp(command->fence, "required") != 0 && strcmp(command->fence, "none") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--fence takes 'required' or 'none'");
    if (strcmp(command->type, "rbd") != 0 && strcmp(command->type, "cephfs") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--type takes 'rbd' or 'cephfs'");
    if (command->watch && strcmp(command->action, "status") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "-w follows 'status' alone");
    return 0;
}

static int run_action(struct takeover_command *command, struct call *call, FILE *file,
                      struct error *err)
{
    _cleanup_takeover_map_ struct takeover_map checked = {0};

    if (connect_kube(command, err) < 0 || read_map(command, call, err) < 0 ||
        change_map(command, call, err) < 0 ||
        takeover_map_decode(command->map_json, &checked, err) < 0)
        return -1;
    if (strcmp(command->action, "status") == 0 || command->dry_run)
        return connect_ceph(command, err) < 0 ? -1 : show_plan(command, call, file, err);
    if (write_map(command, call, err) < 0)
        return -1;
    fputs("written; the controller carries it out: cephzone takeover status\n", file);
    return 0;
}

static int print_action(void *object, FILE *file, struct error *err)
{
    struct takeover_command *flags = object;
    struct takeover_command command = *flags;
    struct call call;

    call_init(&call, 1, "takeover", deadline_in_ms(CALL_MS));
    int code = run_action(&command, &call, file, err);
    call_done(&call);
    standing_credentials_free(command.standing);
    config_file_free(command.config);
    kube_free(command.kube);
    json_decref(command.map_json);
    free_all(command.notes_namespace, command.collection, command.path, command.version);
    flags->ceph = command.ceph; /* for the next look */
    return code < 0 ? TOOL_BLIND : code;
}

static int run_takeover(void *values)
{
    const struct takeover_command *command = values;
    int code = tool_follow("takeover", command->watch, print_action, values);

    return tool_leave_ceph(command->ceph, code);
}

static const char HELP[] =
    "Usage: cephzone takeover status [-w] [flags]\n"
    "       cephzone takeover start DOMAIN --to=DOMAIN,... [flags]\n"
    "       cephzone takeover giveback DOMAIN [flags]\n\n"
    "Lets other domains serve a failed one, and gives it back. Exit code: 0 all can go on, 1\n"
    "something is in the way, 2 bad command line, 3 the cluster could not be read.\n\n"
    "  kubectl cephzone takeover start zone-a --to=zone-b --dry-run\n"
    "  kubectl cephzone takeover status -w\n";

int command_takeover(int argc, char **argv)
{
    struct takeover_command values = {.domain = "",
                                      .driver = "rbd.csi.ceph.com",
                                      .fence = "required",
                                      .type = "rbd",
                                      .tool = {.instance = "default"}};
    const struct flag flags[] = {
        {"kubeconfig", FLAG_STRING, &values.kubeconfig, "FILE", "how to reach the API server"},
        {"context", FLAG_STRING, &values.context, "NAME", "of the kubeconfig; else its own"},
        TOOL_NAMESPACE_FLAGS(values.name_space, "of the driver's controller"),
        {"driver", FLAG_STRING, &values.driver, "NAME", "name of the driver"},
        {"to", FLAG_STRING, &values.to, "DOMAINS", "start: who takes over, 'all' for everybody"},
        {"fence", FLAG_STRING, &values.fence, "required|none",
         "start: none only if no client there can write any more"},
        {"type", FLAG_STRING, &values.type, "rbd|cephfs", "of the driver"},
        {"instanceid", FLAG_STRING, &values.tool.instance, NULL, "--instanceid of the driver"},
        {"dry-run", FLAG_BOOL, &values.dry_run, NULL, "print each step, change nothing"},
        {"w", FLAG_BOOL, &values.watch, NULL, NULL},
        {"watch", FLAG_BOOL, &values.watch, NULL, "status: print it again when it changes"},
        {"config", FLAG_STRING, &values.tool.config, "FILE", "config.json, to read fences"},
        {"keyring", FLAG_STRING, &values.tool.keyring, "FILE", "Ceph user for that"},
        {"secrets", FLAG_STRING, &values.tool.secrets, "FILE", "the same as JSON"},
    };
    const struct tool_command command = {.name = "takeover",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .arguments = &values.arguments,
                                         .words = TOOL_WORDS("status", "start", "giveback"),
                                         .check = check_flags,
                                         .run = run_takeover};

    int code = tool_run(&command, argc, argv);
    string_list_done(&values.arguments);
    return code;
}
