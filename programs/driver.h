#pragma once

#include <signal.h>

#include "programs/options.h"

/* Serves --type=rbd until one of @signals arrives, then drains. Returns the exit code. */
int driver_run(const struct options *options, const sigset_t *signals);
