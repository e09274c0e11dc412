/* The operator's tool. Also installed as kubectl-cephzone. */
#include "programs/cephzone/cephzone.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* NULL: not for users */
} COMMANDS[] = {
    {"call", command_call, "call one CSI method of a driver and print its answer"},
    {"capacity", command_capacity, "print how much free space each StorageClass has in each place"},
    {"check", command_check,
     "look at a cluster before a switch from Ceph-CSI, or back: flags, users, finalizers"},
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
    fputs("\n'cephzone COMMAND --help' has details. 'cephzone --version' prints the version.\n",
          file);
}

static int refuse_command(const char *word)
{
    struct nearest nearest = NEAREST_INIT(word);

    for (size_t i = 0; i < ARRAY_LENGTH(COMMANDS); i++)
        if (COMMANDS[i].help)
            nearest_offer(&nearest, COMMANDS[i].name);
    fprintf(stderr, "cephzone: there is no command '%s'", word);
    if (nearest.name)
        fprintf(stderr, "; did you mean '%s'?", nearest.name);
    fputc('\n', stderr);
    return 2;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("cephzone %s (%s)\n", CEPHZONE_VERSION, CEPHZONE_COMMIT);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(COMMANDS); i++)
        if (strcmp(COMMANDS[i].name, argv[1]) == 0)
            return COMMANDS[i].run(argc - 1, argv + 1);
    return refuse_command(argv[1]);
}
