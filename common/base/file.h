#pragma once

#include "common/base/error.h"
#include "common/base/text.h"

/*
 * Appends the bytes of the file to @content, whose limit is the largest size that is accepted: a
 * file that does not fit is refused with INVALID_ARGUMENT and the limit. Fails with the error
 * number's status when the file cannot be read. The error names the path, never the content. On
 * failure nothing is promised about @content. Any thread.
 */
_must_check_ int file_read(const char *path, struct text *content, struct error *err);
