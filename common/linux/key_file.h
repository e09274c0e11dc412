#pragma once

#include "common/base/call.h"
#include "common/linux/host_ops.h"

/* Keys, and the files made of them by write_key() of host_ops.h. */

/* In the run folder: where the host must put them. */
#define KEY_FOLDER "keys"

/* Whether a key is a word of base64, as keys of Ceph are: no list of options can take a part of it
 * for something else. */
bool key_is_plain(const struct secret *key);
/* INVALID_ARGUMENT. */
int key_refuse(const char *user, struct error *err);

/* Removes one when its program has read it; says so in the log if it cannot. */
void key_file_remove(struct host *host, struct call *call, const char *path);

/* At start: those of interrupted calls. The folder is this driver's alone. */
_must_check_ int key_files_clear(struct host *host, const char *run_dir, struct error *err);
