#include "common/ceph/cephx_key.h"

#include <string.h>

#include "common/ceph/library_version.h"
#include "common/encoding/base64.h"

enum { TYPE_AES = 1, TYPE_AES256K = 2 };
enum { HEADER = 12 }; /* type, time, length */

/* False if @key does not have the form of a Ceph key, of whatever type. */
static bool parse_key(const struct secret *key, unsigned *type)
{
    unsigned char bytes[128];
    size_t length = 0;

    if (!base64_decode(secret_reveal(key), bytes, sizeof(bytes), &length) || length < HEADER)
        return false;
    unsigned key_length = bytes[HEADER - 2] | bytes[HEADER - 1] << 8;
    *type = bytes[0] | bytes[1] << 8;
    explicit_bzero(bytes, sizeof(bytes));
    return key_length > 0 && length == HEADER + key_length;
}

unsigned cephx_key_type(const struct secret *key)
{
    unsigned type = 0;

    return parse_key(key, &type) ? type : 0;
}

const char *cephx_key_type_name(unsigned type)
{
    if (type == TYPE_AES)
        return "aes";
    return type == TYPE_AES256K ? "aes256k" : "unknown";
}

int cephx_key_check(const struct secret *key, const char *library_version, struct error *err)
{
    unsigned type = 0;

    if (!parse_key(key, &type))
        return error_set(err, STATUS_UNAUTHENTICATED, "it is not a Ceph key");
    if (type != TYPE_AES && type != TYPE_AES256K)
        return error_set(err, STATUS_UNAUTHENTICATED,
                         "it is a key of type %u; this driver knows types 1 (aes) and 2 (aes256k)",
                         type);
    if (type == TYPE_AES256K && !library_knows_aes256k(library_version))
        return error_set(
            err, STATUS_UNAUTHENTICATED,
            "it is a key of type 2 (aes256k), which the Ceph libraries of this driver, "
            "version %s, do not know; run an image with 20.2.4 (or 19.2.6) or newer, or "
            "give the user a key of type aes",
            library_version);
    return 0;
}
