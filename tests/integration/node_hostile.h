#pragma once

#include <stdbool.h>

/*
 * Paths, ids and flags as somebody would choose them who wants the driver, which is root, to touch
 * what is not its own. All is refused, and a folder beside the volumes stays as it was. A whole
 * test program: returns what main() must.
 */
int node_hostile_run(bool is_cephfs);
