#pragma once

#include "controller/backend.h"

/* Volumes migrated from Kubernetes' own rbd driver: an image, and nothing in the journal. */
extern const struct migrated_steps RBD_MIGRATED;
