#pragma once

#include "common/base/call.h"
#include "common/linux/host_ops.h"

/* Files made by write_key() of host_ops.h. */

/* In the run folder: where the host must put them. */
#define KEY_FOLDER "keys"

/* Removes one when its program has read it; says so in the log if it cannot. */
void key_file_remove(struct host *host, struct call *call, const char *path);

/* At start: those of interrupted calls. The folder is this driver's alone. */
_must_check_ int key_files_clear(struct host *host, const char *run_dir, struct error *err);
