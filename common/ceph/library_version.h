#pragma once

#include <stdbool.h>

/* Version of the Ceph libraries that this process runs with, such as "20.2.4"; "unknown" if they do
 * not tell. Any thread. */
const char *ceph_library_version(void);

/* True if libraries of this version know cephx keys of type 2 (AES256K). Of an unknown version one
 * assumes that they do not: librados prints a key that it cannot read. Pure. */
bool library_knows_aes256k(const char *version);
