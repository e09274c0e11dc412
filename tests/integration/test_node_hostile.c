/* Hostile calls to a node that serves RBD: see node_hostile.h. */
#include "tests/integration/node_hostile.h"

const bool NODE_IS_CEPHFS = false;
