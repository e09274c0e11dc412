/* The operator's tool. Also installed as kubectl-cephzone. */
#include "programs/cephzone/cephzone.h"

#include <signal.h>

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    return commands_run(argc, argv);
}
