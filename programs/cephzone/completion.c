#include "programs/cephzone/completion.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

void completion_offer(const char *word, const char *name, const char *meaning, FILE *file)
{
    if (text_has_prefix(name, word))
        fprintf(file, "%s\t%s\n", name, meaning);
}

void completion_end(bool with_files, FILE *file)
{
    fprintf(file, ":%d\n", with_files ? 0 : 4);
}

/* The flag of "--name" or "-n"; of "--name=value" as well, whose value *@value then is. */
static const struct flag *find_flag(const struct tool_command *command, const char *word,
                                    const char **value)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(name, "=");

    if (word[0] != '-' || length == 0)
        return NULL;
    *value = name[length] == '=' ? name + length + 1 : NULL;
    for (size_t i = 0; i < command->count; i++)
        if (strlen(command->flags[i].name) == length &&
            strncmp(command->flags[i].name, name, length) == 0)
            return flag_is_short(&command->flags[i]) ? &command->flags[i + 1] : &command->flags[i];
    return NULL;
}

/* "rbd|cephfs": these words; "FILE": names of files, which is the result. */
static bool offer_values(const struct flag *flag, const char *word, const char *prefix, FILE *file)
{
    const char *names = flag->value_name ? flag->value_name : "";

    if (text_has_prefix(names, "FILE"))
        return true;
    while (names[0] && !isupper((unsigned char)names[0])) {
        size_t length = strcspn(names, "|");
        _cleanup_free_ char *name = xstrndup(names, length);
        _cleanup_free_ char *whole = xasprintf("%s%s", prefix, name);

        if (text_has_prefix(name, word))
            fprintf(file, "%s\t%s\n", whole, flag->help);
        names += length + (names[length] == '|');
    }
    return false;
}

static void offer_flags(const struct tool_command *command, const char *word, FILE *file)
{
    for (size_t i = 0; i < command->count; i++) {
        const struct flag *flag = &command->flags[i];
        _cleanup_free_ char *name = xasprintf("--%s", flag->name);

        if (!flag_is_short(flag))
            completion_offer(word, name, flag->help, file);
    }
    completion_offer(word, "--help", "print help", file);
}

/* Bash makes three words of "--output=json"; "=" is none of them here. */
static void take_words(int count, char **words, struct string_list *list)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], "=") != 0)
            string_list_add(list, words[i]);
    if (list->count == 0 || strcmp(words[count - 1], "=") == 0)
        string_list_add(list, "");
}

void completion_print(const struct tool_command *command, int count, char **words, FILE *file)
{
    _cleanup_string_list_ struct string_list list = {0};
    const struct flag *waiting = NULL; /* for its value */
    const char *value = NULL;
    size_t arguments = 0;

    take_words(count, words, &list);
    assert(list.count > 0);
    for (size_t i = 0; i + 1 < list.count; i++) {
        const struct flag *flag = waiting ? NULL : find_flag(command, list.items[i], &value);

        if (!flag && !waiting && list.items[i][0] != '-')
            arguments++;
        waiting = flag && !value && flag->kind != FLAG_BOOL ? flag : NULL;
    }
    const char *last = list.items[list.count - 1];
    const struct flag *own = waiting ? NULL : find_flag(command, last, &value);
    bool with_files = false;
    if (waiting) {
        with_files = offer_values(waiting, last, "", file);
    } else if (own && value) {
        _cleanup_free_ char *prefix = xstrndup(last, (size_t)(value - last));
        with_files = offer_values(own, value, prefix, file);
    } else if (last[0] == '-') {
        offer_flags(command, last, file);
    } else if (arguments == 0 && command->words) {
        for (size_t i = 0; command->words[i]; i++)
            completion_offer(last, command->words[i], "", file);
    }
    completion_end(with_files, file);
}

/* --- the scripts --- */

static const char BASH_SCRIPT[] =
    "# bash completion of cephzone: source <(cephzone completion bash)\n"
    "_cephzone()\n"
    "{\n"
    "    local line files=no\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :0) files=yes ;;\n"
    "        :*) ;;\n"
    "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]}\" __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    if [ $files = yes ]; then\n"
    "        compopt -o default\n"
    "    fi\n"
    "}\n"
    "complete -F _cephzone cephzone kubectl-cephzone\n";

static const char ZSH_SCRIPT[] =
    "#compdef cephzone kubectl-cephzone\n"
    "# zsh completion of cephzone: source <(cephzone completion zsh), after compinit\n"
    "_cephzone()\n"
    "{\n"
    "    local line files=no\n"
    "    local -a candidates\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :0) files=yes ;;\n"
    "        :*) ;;\n"
    "        *) candidates+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done < <(\"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
    "    if (( ${#candidates} )); then\n"
    "        _describe cephzone candidates\n"
    "    fi\n"
    "    if [ $files = yes ]; then\n"
    "        _files\n"
    "    fi\n"
    "}\n"
    "compdef _cephzone cephzone kubectl-cephzone\n";

static const char FISH_SCRIPT[] =
    "# fish completion of cephzone: cephzone completion fish | source\n"
    "function __cephzone_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)\n"
    "        switch $line\n"
    "            case ':0'\n"
    "                __fish_complete_path (commandline -ct)\n"
    "            case ':*'\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c cephzone -f -a '(__cephzone_complete)'\n"
    "complete -c kubectl-cephzone -f -a '(__cephzone_complete)'\n";

const char *completion_script(const char *shell)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", BASH_SCRIPT}, {"zsh", ZSH_SCRIPT}, {"fish", FISH_SCRIPT}};

    for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++)
        if (strcmp(scripts[i].shell, shell) == 0)
            return scripts[i].script;
    return NULL;
}
