/*
 * cephzone takeover: shows and changes the map in the ConfigMap, which the driver's controller
 * follows. What it would do is told by the same plan that it makes.
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
    const char *instance;
    bool dry_run;
    /* what was found */
    struct kube *kube;
    char *collection;  /* of ConfigMaps */
    char *path;        /* of ours */
    json_t *map_json;  /* the map as it is or shall be */
    char *version;     /* of the ConfigMap; NULL: there is none */
    struct ceph *ceph; /* NULL: fences are not looked at */
    struct config_file *config;
    struct standing_credentials *standing;
    struct fences fences;
    struct client_records records;
};

static void command_done(struct takeover_command *command)
{
    standing_credentials_free(command->standing);
    config_file_free(command->config);
    kube_free(command->kube);
    json_decref(command->map_json);
    free(command->collection);
    free(command->path);
    free(command->version);
}

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

static json_t *targets_of(const char *list)
{
    _cleanup_free_ char *copy = xstrdup(list);
    json_t *targets = json_array();
    char *rest = NULL;

    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        json_array_append_new(targets, json_string(text_trim(word)));
    return targets;
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

static int change_map(struct takeover_command *command, struct error *err)
{
    const char *entry = find_entry(command);

    if (strcmp(command->action, "status") == 0)
        return 0;
    if (strcmp(command->action, "giveback") == 0) {
        if (!entry)
            return error_set(err, STATUS_NOT_FOUND, "'%s' is not being taken over",
                             command->domain);
        return json_object_del(command->map_json, entry);
    }
    json_t *targets = targets_of(command->to);
    if (strcmp(command->fence, "none") == 0)
        targets = json_pack("{s:o, s:s}", "to", targets, "fence", "none");
    json_object_set_new(command->map_json, entry ? entry : command->domain, targets);
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

/* --- looking ahead --- */

static int connect_ceph(struct takeover_command *command, struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};

    if (command->tool.config[0] == '\0')
        return 0;
    if (tool_check_flags(&command->tool, err) < 0 ||
        tool_read_credentials(&command->tool, &credentials, err) < 0)
        return -1;
    command->config = config_file_new(command->tool.config);
    command->standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &credentials});
    command->ceph = ceph_new(&(struct ceph_options){.connect_timeout_ms = CALL_MS / 2,
                                                    .mon_op_timeout_ms = CALL_MS / 2,
                                                    .osd_op_timeout_ms = CALL_MS / 2});
    command->fences = (struct fences){command->ceph, command->config, command->standing};
    command->records = (struct client_records){
        .ceph = command->ceph,
        .config = command->config,
        .standing = command->standing,
        .instance_id = command->instance,
        .is_cephfs = strcmp(command->type, "cephfs") == 0,
    };
    return 0;
}

static void print_domains(const struct takeover_plan *plan)
{
    for (size_t i = 0; i < plan->domain_count; i++) {
        const struct takeover_progress *domain = &plan->domains[i];

        printf("%-8s %-9s %s: %s\n", domain->is_giveback ? "giveback" : "takeover",
               domain->is_done      ? "done"
               : domain->is_blocked ? "blocked"
                                    : "under way",
               domain->domain, domain->explanation);
    }
}

/* Prints the steps of a plan and all that would follow, and leaves the last plan in @look. */
static size_t print_steps(const struct takeover_site *site, const struct takeover_map *map,
                          struct takeover_look *look)
{
    size_t number = 0;

    for (int round = 0; round < ROUNDS_MAX && look->plan.count > 0; round++) {
        for (size_t i = 0; i < look->plan.count; i++) {
            _cleanup_free_ char *text = takeover_step_text(&look->plan.steps[i]);

            printf("%3zu. %s: %s\n", ++number, look->plan.steps[i].domain, text);
        }
        for (size_t i = 0; i < look->plan.count; i++)
            takeover_step_assume(&look->plan.steps[i], &look->nodes, &look->fenced, &look->pods);
        takeover_look_plan(site, map, look);
    }
    return number;
}

/* Exit code: 0 if all can go on, TOOL_FOUND if something is in the way. */
static int show(struct takeover_command *command, struct call *call, struct error *err)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};
    _cleanup_takeover_look_ struct takeover_look look = {0};
    const struct takeover_site site = {.kube = command->kube,
                                       .driver_name = command->driver,
                                       .own_node = "",
                                       .looks_ahead = command->dry_run,
                                       .fences = command->ceph ? &command->fences : NULL,
                                       .records = command->ceph ? &command->records : NULL};
    int code = 0;

    if (takeover_map_decode(command->map_json, &map, err) < 0 ||
        takeover_look_at(&site, call, &map, &look, err) < 0)
        return -1;
    if (strcmp(command->action, "status") == 0)
        print_domains(&look.plan);
    else if (print_steps(&site, &map, &look) == 0 || look.plan.domain_count > 0)
        print_domains(&look.plan);
    for (size_t i = 0; i < look.plan.domain_count; i++)
        code |= look.plan.domains[i].is_blocked ? TOOL_FOUND : 0;
    if (look.plan.domain_count == 0)
        puts("no domain is taken over");
    return code;
}

/* --- the command --- */

static int parse(struct takeover_command *command, int argc, char **argv, struct error *err)
{
    const struct flag table[] = {
        {"kubeconfig", FLAG_STRING, &command->kubeconfig, "FILE", "how to reach the API server"},
        {"context", FLAG_STRING, &command->context, "NAME", "of the kubeconfig; else its own"},
        {"namespace", FLAG_STRING, &command->name_space, "NAME", "of the driver's controller"},
        {"driver", FLAG_STRING, &command->driver, "NAME", "name of the driver"},
        {"to", FLAG_STRING, &command->to, "DOMAINS", "start: who takes over, 'all' for everybody"},
        {"fence", FLAG_STRING, &command->fence, "required|none",
         "start: none only if no client there can write any more"},
        {"type", FLAG_STRING, &command->type, "rbd|cephfs", "of the driver"},
        {"instanceid", FLAG_STRING, &command->instance, NULL, "--instanceid of the driver"},
        {"dry-run", FLAG_BOOL, &command->dry_run, NULL, "print each step, change nothing"},
        {"config", FLAG_STRING, &command->tool.config, "FILE", "config.json, to look at fences"},
        {"keyring", FLAG_STRING, &command->tool.keyring, "FILE", "Ceph user for that"},
        {"secrets", FLAG_STRING, &command->tool.secrets, "FILE", "the same as JSON"},
    };
    static const char usage[] = "Usage: cephzone takeover status [flags]\n"
                                "       cephzone takeover start DOMAIN --to=DOMAIN,... [flags]\n"
                                "       cephzone takeover giveback DOMAIN [flags]\n";

    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(usage, argc < 2 ? stderr : stdout);
        flags_print_usage(argc < 2 ? stderr : stdout, table, ARRAY_LENGTH(table));
        exit(argc < 2 ? TOOL_USAGE : 0);
    }
    command->action = argv[1];
    bool is_status = strcmp(command->action, "status") == 0;
    bool is_start = strcmp(command->action, "start") == 0;
    if (!is_status && !is_start && strcmp(command->action, "giveback") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is none of start, status and giveback",
                         command->action);
    if (!is_status && (argc < 3 || argv[2][0] == '-'))
        return error_set(err, STATUS_INVALID_ARGUMENT, "the domain is missing");
    command->domain = is_status ? "" : argv[2];
    int skipped = is_status ? 1 : 2;
    if (tool_parse_flags(table, ARRAY_LENGTH(table), argc - skipped, argv + skipped, err) < 0)
        return -1;
    if (is_start && command->to[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--to is missing");
    if (strcmp(command->fence, "required") != 0 && strcmp(command->fence, "none") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--fence takes 'required' or 'none'");
    if (strcmp(command->type, "rbd") != 0 && strcmp(command->type, "cephfs") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--type takes 'rbd' or 'cephfs'");
    return 0;
}

static int run(struct takeover_command *command, struct call *call, struct error *err)
{
    _cleanup_takeover_map_ struct takeover_map checked = {0};

    if (connect_kube(command, err) < 0 || read_map(command, call, err) < 0 ||
        change_map(command, err) < 0 || takeover_map_decode(command->map_json, &checked, err) < 0)
        return -1;
    if (strcmp(command->action, "status") == 0 || command->dry_run) {
        if (connect_ceph(command, err) < 0)
            return -1;
        return show(command, call, err);
    }
    if (write_map(command, call, err) < 0)
        return -1;
    puts("written; the controller carries it out: cephzone takeover status");
    return 0;
}

int command_takeover(int argc, char **argv)
{
    struct takeover_command command = {.tool = TOOL_FLAGS_INIT,
                                       .kubeconfig = "",
                                       .context = "",
                                       .name_space = "",
                                       .driver = "rbd.csi.ceph.com",
                                       .to = "",
                                       .fence = "required",
                                       .type = "rbd",
                                       .instance = "default"};
    _cleanup_error_ struct error err = {0};
    struct call call;

    if (parse(&command, argc, argv, &err) < 0) {
        fprintf(stderr, "cephzone takeover: %s\n", err.message);
        return TOOL_USAGE;
    }
    call_init(&call, 1, "takeover", deadline_in_ms(CALL_MS));
    int code = run(&command, &call, &err);
    call_done(&call);
    if (code < 0)
        fprintf(stderr, "cephzone takeover: %s\n", err.message);
    struct ceph *ceph = command.ceph;
    command_done(&command);
    code = code < 0 ? TOOL_BLIND : code;
    return ceph ? tool_leave_ceph(ceph, code) : code;
}
