#pragma once

#include "tests/integration/cuts.h"

/* Each test program defines its own; the tests are in random_kills.c. */
extern const struct cuts_setup *const RANDOM_KILLS_SETUP;
