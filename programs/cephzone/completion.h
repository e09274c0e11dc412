#pragma once

#include <stdio.h>

#include "programs/cephzone/tool.h"

/*
 * What a shell offers when Tab is pressed. The scripts that 'cephzone completion' prints call
 * "cephzone __complete WORD..." with the words until the cursor, of which the last may be empty or
 * incomplete. The answer is what kubectl expects of a plugin too: lines "CANDIDATE\tMEANING", then
 * ":4", or ":0" if names of files are candidates as well. Main thread.
 */

/* @words are those behind the command's name. */
void completion_print(const struct tool_command *command, int count, char **words, FILE *file);

/* Prints @name if it begins with @word. */
void completion_offer(const char *word, const char *name, const char *meaning, FILE *file);
/* Ends the answer. */
void completion_end(bool with_files, FILE *file);

/* The script of "bash", "zsh" or "fish"; NULL for others. Constant. */
const char *completion_script(const char *shell);
