#pragma once

#include <stdbool.h>

#include "common/base/error.h"

/* Version of the Ceph libraries that this process runs with, such as "20.2.4"; "unknown" if they do
 * not tell. Any thread. */
const char *ceph_library_version(void);

/* True if libraries of this version know cephx keys of type 2 (AES256K). Of an unknown version one
 * assumes that they do not: librados prints a key that it cannot read. Pure. */
bool library_knows_aes256k(const char *version);

/* True if libraries of this version are older than a release of Ceph, given by its name ("reef"):
 * the first letters of the names count the releases. False if one of the two is unknown. Pure. */
bool library_is_older(const char *version, const char *release);

/* The newest release that a cluster may need libraries of. */
#define LIBRARY_NEWEST_NEEDED "squid"

/* Appends to an error of monitors that do not answer that they may not want libraries as old as
 * these, if there can be such: they hang up (seen: CRUSH rules of Ceph 19 and libraries of 16.2),
 * and librados goes on trying without a word. Returns -1. Pure. */
int library_hint_at_age(const char *version, struct error *err);
/* What becomes of libraries of this version in a cluster that is set up for clients of @release and
 * newer; NULL: they are new enough. Caller frees. Pure. */
char *library_age_warning(const char *version, const char *release);
