/* RBD's driver, killed at random: see random_kills.c. */
#include "tests/integration/random_kills.h"
#include "tests/integration/steps.h"

const struct cuts_setup *const RANDOM_KILLS_SETUP = &STEPS_RBD;
