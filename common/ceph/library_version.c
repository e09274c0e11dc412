#include "common/ceph/library_version.h"

#include <dlfcn.h>
#include <stdio.h>

/* rados_version() counts the interface and has not moved for ten years. The release is known to a
 * function of libceph-common, which librados brings along; C knows it by its mangled name. */
#define RELEASE_FUNCTION "_Z19ceph_version_to_strv"

const char *ceph_library_version(void)
{
    const char *(*release)(void) = NULL;

    *(void **)&release = dlsym(RTLD_DEFAULT, RELEASE_FUNCTION);
    return release ? release() : "unknown";
}

bool library_knows_aes256k(const char *version)
{
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;

    if (sscanf(version, "%u.%u.%u", &major, &minor, &patch) != 3)
        return false;
    if (major == 19)
        return minor > 2 || (minor == 2 && patch >= 6);
    if (major == 20)
        return minor > 2 || (minor == 2 && patch >= 4);
    return major > 20;
}
