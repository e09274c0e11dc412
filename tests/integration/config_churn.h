#pragma once

#include "tests/integration/harness.h"

/*
 * Replaces a driver's config.json again and again: with contents that mean the same and with broken
 * ones, in each of the ways in which a file may come to be another. None of it may disturb a call.
 * Every failure ends the test.
 */
struct config_churn {
    struct driver_process *driver;
    size_t count; /* replacements so far */
};

/* Each content has come in each way after so many replacements. */
size_t config_churn_round(void);
void config_churn_next(struct config_churn *churn);
/* A plain good file, as harness_init() makes it, and nothing else in the folder. */
void config_churn_done(struct config_churn *churn);
