#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Decodes standard base64 with padding. False, with nothing promised about @bytes, if @text is not
 * that or does not fit into @limit bytes. Pure. */
bool base64_decode(const char *text, unsigned char *bytes, size_t limit, size_t *length);
