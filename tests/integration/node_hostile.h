#pragma once

#include "tests/integration/node_fixture.h"

/*
 * Paths, ids and flags as somebody would choose them who wants the driver, which is root, to touch
 * what is not its own. All is refused, and a folder beside the volumes stays as it was. The tests
 * are in node_hostile.c; each program says which kind of volume it is about.
 */
