#pragma once

/* The subcommands of cephzone. Each gets its own arguments, argv[0] being its name, and returns the
 * exit code: 0, 1 when what was asked failed, 2 when the command line makes no sense; fsck and
 * its like say with 1 that they found something wrong and with 3 that they could not look. */
int command_call(int argc, char **argv);
int command_capacity(int argc, char **argv);
int command_convert_pv(int argc, char **argv);
int command_docs(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_fsck(int argc, char **argv);
int command_place(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_takeover(int argc, char **argv);
int command_topology(int argc, char **argv);
