#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

/*
 * Reads YAML into jansson values, so that a file may be written in either language and everything
 * behind the loader sees JSON. Any thread.
 *
 * Scalars mean what they mean to Kubernetes (YAML 1.1 without numbers of base 60 and without
 * dates): quoted ones and blocks are strings; plain true, yes, on, y and their opposites are
 * booleans; ~, null and nothing are null; 10, 0x1f, 0o17, 017, 0b11 and 1_000 are integers; 1.5
 * and 1e3 are reals, as are integers that do not fit 64 bits; all else is a string. Keys become
 * strings ("1", "true").
 *
 * A text from outside cannot cost more than its limits: YAML_TEXT_LIMIT bytes, YAML_DEPTH_LIMIT
 * levels, YAML_NODE_LIMIT values and keys. Aliases (*name), which multiply without limit, merge
 * keys (<<) and tags other than the standard scalar ones are refused, as are a key given twice,
 * NUL in a string, and numbers that JSON does not have (.inf, .nan).
 */
#define YAML_TEXT_LIMIT ((size_t)4 * 1024 * 1024)
#define YAML_DEPTH_LIMIT 64
#define YAML_NODE_LIMIT 500000

/*
 * *@documents becomes an array with the documents of the stream in their order; those without
 * content (nothing between two "---", or null) are left out. Caller frees it with json_decref().
 *
 * Fails with INVALID_ARGUMENT and the exact place: "deploy.yaml: line 3, column 14: ...". @what
 * names the text in the error, which never quotes a value of it.
 */
_must_check_ int yaml_load_text(const char *text, size_t length, const char *what,
                                json_t **documents, struct error *err);

/* As yaml_load_text(), from a file of at most @limit bytes (and YAML_TEXT_LIMIT). Fails with the
 * error number's status when the file cannot be read. */
_must_check_ int yaml_load_path(const char *path, size_t limit, json_t **documents,
                                struct error *err);

/*
 * A file in either language: one that begins with '{' or '[', or is empty, is JSON and becomes one
 * document, of at most @limit bytes; any other is YAML. Errors as those of json_load_path() and
 * yaml_load_path().
 */
_must_check_ int documents_load_path(const char *path, size_t limit, json_t **documents,
                                     struct error *err);
