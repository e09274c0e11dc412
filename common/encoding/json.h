#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/base/text.h"

/*
 * Reading JSON: text to jansson values, and values to C structs by tables. Any thread.
 *
 * Tables follow the rules of Go's encoding/json, because the same files are read by Go programs: a
 * key is found by its exact spelling, else without regard to (ASCII) case; a missing key leaves
 * the member as it is; null stands for the zero value. A key may be a path through objects,
 * "spec.csi.driver", whose steps are found by their exact spelling. A table is static and const:
 *
 *   static const struct json_field CLUSTER_FIELDS[] = {
 *       JSON_FIELD_STRING("clusterID", struct cluster, id),
 *       JSON_FIELD_STRINGS("monitors", struct cluster, monitors),
 *       JSON_FIELD_OBJECT("rbd", struct cluster, rbd, &RBD_TABLE),
 *   };
 *   static const struct json_table CLUSTER_TABLE = JSON_TABLE(struct cluster, CLUSTER_FIELDS);
 */

#define JSON_TEXT_LIMIT ((size_t)4 * 1024 * 1024)
#define JSON_DEPTH_LIMIT 64

enum json_kind {
    JSON_KIND_STRING,  /* char *, owned */
    JSON_KIND_BOOL,    /* bool */
    JSON_KIND_INT,     /* int64_t */
    JSON_KIND_UINT,    /* uint64_t; up to 2^63 - 1, which is as far as jansson reads */
    JSON_KIND_STRINGS, /* struct string_list */
    JSON_KIND_STRMAP,  /* struct strmap */
    JSON_KIND_OBJECT,  /* a struct inside the struct */
    JSON_KIND_OBJECTS, /* pointer to an array of structs, owned, and a size_t with their number */
    JSON_KIND_PRESENT, /* bool: is the key, which another field decodes, there and not null? */
    JSON_KIND_VALUE,   /* json_t *, owned: whatever is there, NULL for null; decoded by hand */
};

struct json_table;

struct json_field {
    const char *key;
    enum json_kind kind;
    size_t offset;
    size_t count_offset;            /* OBJECTS */
    const struct json_table *table; /* OBJECT, OBJECTS */
};

struct json_table {
    const struct json_field *fields;
    size_t count;
    size_t size; /* of the struct */
    bool strict; /* refuse keys that no field has, and two spellings of one key */
};

/* The offset of a member; does not compile when the member is not of the kind's type. */
#define JSON_OFFSET(type, member, member_type)                                                     \
    (offsetof(type, member) +                                                                      \
     0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((type *)0)->member), member_type)    \
                         ? 1                                                                       \
                         : -1]))
#define JSON_FIELD_PLAIN(name, field_kind, type, member, member_type)                              \
    {                                                                                              \
        .key = (name), .kind = (field_kind), .offset = JSON_OFFSET(type, member, member_type)      \
    }

#define JSON_FIELD_STRING(name, type, member)                                                      \
    JSON_FIELD_PLAIN(name, JSON_KIND_STRING, type, member, char *)
#define JSON_FIELD_BOOL(name, type, member)                                                        \
    JSON_FIELD_PLAIN(name, JSON_KIND_BOOL, type, member, bool)
#define JSON_FIELD_INT(name, type, member)                                                         \
    JSON_FIELD_PLAIN(name, JSON_KIND_INT, type, member, int64_t)
#define JSON_FIELD_UINT(name, type, member)                                                        \
    JSON_FIELD_PLAIN(name, JSON_KIND_UINT, type, member, uint64_t)
#define JSON_FIELD_STRINGS(name, type, member)                                                     \
    JSON_FIELD_PLAIN(name, JSON_KIND_STRINGS, type, member, struct string_list)
#define JSON_FIELD_STRMAP(name, type, member)                                                      \
    JSON_FIELD_PLAIN(name, JSON_KIND_STRMAP, type, member, struct strmap)
#define JSON_FIELD_VALUE(name, type, member)                                                       \
    JSON_FIELD_PLAIN(name, JSON_KIND_VALUE, type, member, json_t *)
#define JSON_FIELD_PRESENT(name, type, member)                                                     \
    JSON_FIELD_PLAIN(name, JSON_KIND_PRESENT, type, member, bool)
#define JSON_FIELD_OBJECT(name, type, member, object_table)                                        \
    {                                                                                              \
        .key = (name), .kind = JSON_KIND_OBJECT, .offset = offsetof(type, member),                 \
        .table = (object_table)                                                                    \
    }
#define JSON_FIELD_OBJECTS(name, type, member, count_member, element_table)                        \
    {                                                                                              \
        .key = (name), .kind = JSON_KIND_OBJECTS, .offset = offsetof(type, member),                \
        .count_offset = JSON_OFFSET(type, count_member, size_t), .table = (element_table)          \
    }

#define JSON_TABLE(type, field_array)                                                              \
    {                                                                                              \
        .fields = (field_array), .count = ARRAY_LENGTH(field_array), .size = sizeof(type)          \
    }
#define JSON_STRICT_TABLE(type, field_array)                                                       \
    {                                                                                              \
        .fields = (field_array), .count = ARRAY_LENGTH(field_array), .size = sizeof(type),         \
        .strict = true                                                                             \
    }

/*
 * Reads an object or an array from @text. @what names the text in the error, which gives the exact
 * place: "config.json: line 3, column 14: ...". The error never quotes the values in the text.
 *
 * Refuses more than JSON_TEXT_LIMIT bytes, more than JSON_DEPTH_LIMIT levels, a key given twice,
 * anything behind the value, and strings with NUL or malformed UTF-8. Caller frees *@out with
 * json_decref(). Fails with INVALID_ARGUMENT.
 */
_must_check_ int json_load_text(const char *text, size_t length, const char *what, json_t **out,
                                struct error *err);

/* As json_load_text(), for what a server sends: the caller has bounded its size, and strings may
 * contain NUL (whoever takes them for C strings sees them end there), so that one odd value in an
 * object of no interest does not hide all the others. */
_must_check_ int json_load_large(const char *text, size_t length, const char *what, json_t **out,
                                 struct error *err);

/* As json_load_text(), but bounded by the text's own limit. */
_must_check_ int json_load_whole(const struct text *text, const char *what, json_t **out,
                                 struct error *err);

/* As json_load_text(), from a file of at most @limit bytes; a larger one is refused unread. Fails
 * with the error number's status when the file cannot be read. (json_load_file is jansson's.) */
_must_check_ int json_load_path(const char *path, size_t limit, json_t **out, struct error *err);

/*
 * Fills the struct at @target, which is zeroed or was filled by the same table before, from the
 * object @value. Integers are exact; a number with a fraction or an exponent is not one.
 *
 * Fails with INVALID_ARGUMENT and the path: "clusters[2].rbd.radosNamespace: expected a string,
 * found a number". In either case the caller frees with json_free_fields().
 */
_must_check_ int json_decode(const json_t *value, const struct json_table *table, void *target,
                             struct error *err);

/*
 * Makes an array of structs from the array @value. *@items and *@count, which must be zero, are
 * set on success only; the caller frees with json_free_array(). Paths start with "[0]".
 */
_must_check_ int json_decode_array(const json_t *value, const struct json_table *table,
                                   void **items, size_t *count, struct error *err);

/*
 * The place of a value, as a chain of stack frames from the inside out; NULL is the root. It is
 * written out only when something is wrong there.
 */
struct json_path {
    const struct json_path *parent;
    const char *key; /* NULL: an element of an array */
    size_t index;
};

/* Puts "parameters[3].value: " in front of the error, and nothing for NULL. Returns -1. */
int json_path_wrap(const struct json_path *path, struct error *err);

/* An array of the strings. Caller frees with json_decref(). */
json_t *json_from_strings(const struct string_list *list);

/* What the value is, for an error: "an object", "nothing" for NULL. */
const char *json_type_name(const json_t *value);

/* An object of strings. Caller frees with json_decref(). */
json_t *json_from_strmap(const struct strmap *map);

/* Frees what decoding allocated and zeroes these members. Accepts half-filled structs. */
void json_free_fields(const struct json_table *table, void *target);
void json_free_array(const struct json_table *table, void *items, size_t count);
