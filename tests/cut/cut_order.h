#pragma once

/*
 * Where a process is to die. The file CUT_FILE says after how many steps of which kinds:
 *
 *   3 DeleteVolume purge
 *
 * kills it with SIGKILL at the third step of these kinds from now on, 0 before the first one.
 * "off", or another content than before, starts the count anew. Before it dies it writes "dead".
 * Whoever reads or writes the file has it locked, so that an order that was taken back kills nobody
 * later.
 */

/* Dies if the order says so. @made is how many steps of @kind have been made with this one: 0 or 1.
 * Any thread. */
void cut_point(const char *kind, long made);
