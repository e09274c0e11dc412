#include "node/kernel_key.h"

#include "common/base/memory.h"
#include "common/ceph/cephx_key.h"
#include "common/linux/kernel_key_types.h"

/* Every kernel with a client of Ceph knows the first. */
enum { OLDEST_TYPE = 1 };

/* Caller frees. */
static char *describe(struct host *host, const struct credentials *credentials, unsigned type)
{
    _cleanup_free_ char *release = NULL;
    _cleanup_error_ struct error ignored = {0};

    if (host->ops->sysfs_read(host, "/proc/sys/kernel/osrelease", &release, &ignored) < 0)
        release = NULL;
    return xasprintf(
        "kernel %s does not know keys of type %u (%s), and that of user 'client.%s' "
        "is one; Linux 7.0 and newer know it, and every kernel knows type aes ('ceph auth "
        "rotate client.%s --key-type=aes', where the monitors allow it)",
        release ? release : "of this node", type, cephx_key_type_name(type), credentials->user,
        credentials->user);
}

void kernel_key_check(struct host *host, const struct credentials *credentials, char **reason)
{
    const unsigned type = cephx_key_type(&credentials->key);

    if (type > OLDEST_TYPE && host->ops->refuses_key_type(host, type))
        *reason = describe(host, credentials, type);
}

int kernel_key_explain(struct host *host, const struct credentials *credentials, struct error *err)
{
    const unsigned type = cephx_key_type(&credentials->key);

    if (type <= OLDEST_TYPE || !kernel_key_was_refused(err))
        return -1;
    _cleanup_free_ char *reason = describe(host, credentials, type);
    error_recode(err, STATUS_FAILED_PRECONDITION);
    return error_hint(err, "it seems that %s", reason);
}
