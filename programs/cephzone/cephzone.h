#pragma once

/* All of the program but the signals: finds the command among the arguments, of which the first is
 * the program's name, and runs it. Returns the exit code. */
int commands_run(int argc, char **argv);

/* The subcommands of cephzone. Each gets its own arguments, argv[0] being its name, and returns the
 * exit code: 0, 1 when what was asked for failed, 2 when the command line is invalid; fsck and
 * others return 1 if they found something wrong and 3 if they could not find out. */
int command_call(int argc, char **argv);
int command_capacity(int argc, char **argv);
int command_check(int argc, char **argv);
int command_completion(int argc, char **argv);
int command_convert_pv(int argc, char **argv);
int command_docs(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_fsck(int argc, char **argv);
int command_place(int argc, char **argv);
int command_settle(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_takeover(int argc, char **argv);
int command_topology(int argc, char **argv);
