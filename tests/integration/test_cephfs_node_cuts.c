/* The driver of a node that serves CephFS, killed at each step: see node_cuts.h. */
#include "tests/integration/node_cuts.h"

const bool NODE_IS_CEPHFS = true;
