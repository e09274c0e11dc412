#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/completion.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* NULL: not for users */
} COMMANDS[] = {
    {"call", command_call, "call one CSI method of a driver and print its answer"},
    {"capacity", command_capacity, "print how much free space each StorageClass has in each place"},
    {"check", command_check,
     "look at a cluster before a switch from Ceph-CSI, or back: flags, users, finalizers"},
    {"completion", command_completion, "print the script by which a shell completes command lines"},
    {"convert-pv", command_convert_pv,
     "print patches from zone labels of volumes to node affinity"},
    {"docs", command_docs, NULL},
    {"explain", command_explain, "explain why a pod is pending, node by node, and what would help"},
    {"fsck", command_fsck, "compare journal, images, trash and PVs; report and repair leftovers"},
    {"place", command_place, "print which pool a volume would get, and why"},
    {"settle", command_settle,
     "release names that this driver left half-made, before Ceph-CSI takes over"},
    {"simulate", command_simulate,
     "schedule what is pending; fail a domain; add pods: does it fit?"},
    {"topology", command_topology,
     "print places, pools, free space and takeovers as a tree or picture"},
    {"takeover", command_takeover, "let other domains serve a failed one, and give it back"},
};

static void print_usage(FILE *file)
{
    fputs("Usage: cephzone COMMAND [flags] [arguments]\n\nCommands:\n", file);
    for (size_t i = 0; i < ARRAY_LENGTH(COMMANDS); i++)
        if (COMMANDS[i].help)
            fprintf(file, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    fputs("\nExit code: 0 all is well, 1 something was found, 2 bad command line, 3 a file or "
          "cluster\n"
          "could not be read.\n"
          "'cephzone help COMMAND' has details. 'cephzone version' prints the version.\n",
          file);
}

/* -1 if there is none. */
static int find_command(const char *word)
{
    for (size_t i = 0; i < ARRAY_LENGTH(COMMANDS); i++)
        if (strcmp(COMMANDS[i].name, word) == 0)
            return (int)i;
    return -1;
}

static int refuse_command(const char *word)
{
    struct nearest nearest = NEAREST_INIT(word);

    for (size_t i = 0; i < ARRAY_LENGTH(COMMANDS); i++)
        if (COMMANDS[i].help)
            nearest_offer(&nearest, COMMANDS[i].name);
    fprintf(stderr, "cephzone: there is no command '%s'; ", word);
    if (nearest.name)
        fprintf(stderr, "did you mean '%s'?\n", nearest.name);
    else
        fputs("see 'cephzone --help'\n", stderr);
    return TOOL_USAGE;
}

static int print_help(const char *word)
{
    int index = find_command(word);
    char help[] = "--help";

    if (index < 0)
        return refuse_command(word);
    _cleanup_free_ char *name = xstrdup(word);
    char *argv[] = {name, help, NULL};
    return COMMANDS[index].run(2, argv);
}

/* The words behind "__complete". */
static int complete_line(int count, char **words)
{
    int index = count > 1 ? find_command(words[0]) : -1;
    const char *word = count > 0 ? words[count - 1] : "";

    if (index >= 0 && COMMANDS[index].help) {
        char **argv = xcalloc((size_t)count + 2, sizeof(*argv));
        _cleanup_free_ char *mark = xstrdup(TOOL_COMPLETE);

        argv[0] = words[0];
        argv[1] = mark;
        memcpy(&argv[2], &words[1], (size_t)(count - 1) * sizeof(*argv));
        int code = COMMANDS[index].run(count + 1, argv);
        free(argv);
        return code;
    }
    bool is_help = count == 2 && strcmp(words[0], "help") == 0;
    for (size_t i = 0; (count <= 1 || is_help) && i < ARRAY_LENGTH(COMMANDS); i++)
        if (COMMANDS[i].help)
            completion_offer(word, COMMANDS[i].name, COMMANDS[i].help, stdout);
    if (count <= 1) {
        completion_offer(word, "help", "print help for a command", stdout);
        completion_offer(word, "version", "print the version", stdout);
    }
    completion_end(false, stdout);
    return 0;
}

/* How many words in front of the command are flags that all of kubectl's commands take, with their
 * values. */
static int count_leading_flags(int argc, char **argv)
{
    static const char *const names[] = {"-n",        "--namespace", "--kubeconfig",
                                        "--context", "-o",          "--output"};
    int at = 1;

    while (at < argc) {
        bool is_known = false;
        bool has_value = strchr(argv[at], '=') != NULL;
        size_t length = strcspn(argv[at], "=");

        for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
            is_known |= strlen(names[i]) == length && strncmp(names[i], argv[at], length) == 0;
        if (!is_known)
            break;
        at += has_value ? 1 : 2;
    }
    return at < argc ? at - 1 : 0;
}

/* "cephzone -n shop explain pod/web-0" is "cephzone explain -n shop pod/web-0". */
static int run_command(int argc, char **argv, int leading)
{
    int index = find_command(argv[1 + leading]);

    if (index < 0)
        return refuse_command(argv[1 + leading]);
    char **line = xcalloc((size_t)argc, sizeof(*line));
    line[0] = argv[1 + leading];
    memcpy(&line[1], &argv[1], (size_t)leading * sizeof(*line));
    memcpy(&line[1 + leading], &argv[2 + leading], (size_t)(argc - 2 - leading) * sizeof(*line));
    int code = COMMANDS[index].run(argc - 1, line);
    free(line);
    return code;
}

int commands_run(int argc, char **argv)
{
    int leading = count_leading_flags(argc, argv);
    const char *word = argc < 2 ? "" : argv[1 + leading];

    if (argc < 2) {
        print_usage(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(word, TOOL_COMPLETE) == 0)
        return complete_line(argc - 2, argv + 2);
    if (strcmp(word, "help") == 0 && argc > 2)
        return print_help(argv[2]);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        printf("cephzone %s (%s)\n", CEPHZONE_VERSION, CEPHZONE_COMMIT);
        return 0;
    }
    return run_command(argc, argv, leading);
}
