/* Hostile calls to a node that serves RBD: see node_hostile.h. */
#include "tests/integration/node_hostile.h"

int main(void)
{
    return node_hostile_run(false);
}
