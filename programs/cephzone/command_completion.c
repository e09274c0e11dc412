/* cephzone completion: the script by which a shell completes command lines of this program. */
#include <stdio.h>

#include "common/base/memory.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/completion.h"

static int check_shell(void *values, struct error *err)
{
    const struct string_list *arguments = values;

    if (arguments->count != 1 || !completion_script(arguments->items[0]))
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected one of bash, zsh and fish");
    return 0;
}

static int print_script(void *values)
{
    const struct string_list *arguments = values;

    fputs(completion_script(arguments->items[0]), stdout);
    return 0;
}

static const char HELP[] =
    "Usage: cephzone completion bash|zsh|fish\n\n"
    "Prints the script by which a shell completes commands, flags and their values.\n\n"
    "  source <(cephzone completion bash)            # in ~/.bashrc; zsh likewise\n"
    "  cephzone completion fish | source             # in ~/.config/fish/config.fish\n\n"
    "For 'kubectl cephzone' put an executable file kubectl_complete-cephzone into the PATH:\n\n"
    "  #!/bin/sh\n"
    "  exec kubectl cephzone __complete \"$@\"\n";

int command_completion(int argc, char **argv)
{
    _cleanup_string_list_ struct string_list arguments = {0};
    const struct tool_command command = {.name = "completion",
                                         .help = HELP,
                                         .values = &arguments,
                                         .arguments = &arguments,
                                         .words = TOOL_WORDS("bash", "zsh", "fish"),
                                         .check = check_shell,
                                         .run = print_script};

    return tool_run(&command, argc, argv);
}
