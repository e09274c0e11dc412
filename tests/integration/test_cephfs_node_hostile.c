/* Hostile calls to a node that serves CephFS: see node_hostile.h. */
#include "tests/integration/node_hostile.h"

const bool NODE_IS_CEPHFS = true;
