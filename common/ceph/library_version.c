#include "common/ceph/library_version.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"

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

bool library_is_older(const char *version, const char *release)
{
    unsigned major = 0;

    if (sscanf(version, "%u.", &major) != 1 || !islower((unsigned char)release[0]))
        return false;
    return major < (unsigned)(release[0] - 'a' + 1);
}

int library_hint_at_age(const char *version, struct error *err)
{
    if (!library_is_older(version, LIBRARY_NEWEST_NEEDED))
        return -1;
    return error_hint(err,
                      "if others reach them, the cluster may need newer libraries than those of "
                      "this driver, version %s: 'ceph osd dump' says which as min_compat_client",
                      version);
}

char *library_age_warning(const char *version, const char *release)
{
    if (!library_is_older(version, release))
        return NULL;
    return xasprintf("is set up for clients of Ceph '%.*s' and newer (require_min_compat_client); "
                     "the libraries of this driver have version %s, and operations on placement "
                     "groups whose primary the read balancer has moved hang",
                     (int)strcspn(release, "\n"), release, version);
}
