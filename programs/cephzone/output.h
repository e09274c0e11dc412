#pragma once

#include <jansson.h>
#include <stdio.h>

/* How results are printed, whichever the command. Tables: common/base/columns.h. Main thread. */

/* Indented, with a newline at the end. Frees @json. */
void output_json(json_t *json, FILE *file);
/* Names come from clusters and go into a document: escapes what XML would take for its own, and
 * leaves out control characters. */
void output_xml_text(const char *text, FILE *file);
