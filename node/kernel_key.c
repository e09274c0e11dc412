#include "node/kernel_key.h"

#include "common/base/memory.h"
#include "common/ceph/cephx_key.h"
#include "common/linux/kernel_key_types.h"

/* Every kernel with a client of Ceph knows the first. */
enum { OLDEST_TYPE = 1 };

/* Caller frees. */
static char *name_kernel(struct host *host)
{
    _cleanup_free_ char *release = NULL;
    _cleanup_error_ struct error ignored = {0};

    if (host->ops->sysfs_read(host, "/proc/sys/kernel/osrelease", &release, &ignored) < 0)
        release = NULL;
    return xasprintf("kernel %s", release ? release : "of this node");
}

/* Caller frees. */
static char *describe_unknown(const char *kernel, const struct credentials *credentials,
                              unsigned type)
{
    return xasprintf("%s does not know keys of type %u (%s), and that of user 'client.%s' is one; "
                     "Linux 7.0 and newer know it, and every kernel knows type aes ('ceph auth "
                     "rotate client.%s --key_type aes', where the monitors allow it)",
                     kernel, type, cephx_key_type_name(type), credentials->user, credentials->user);
}

void kernel_key_check(struct host *host, const struct credentials *credentials, char **reason)
{
    const unsigned type = cephx_key_type(&credentials->key);

    if (type <= OLDEST_TYPE || !host->ops->refuses_key_type(host, type))
        return;
    _cleanup_free_ char *kernel = name_kernel(host);
    *reason = describe_unknown(kernel, credentials, type);
}

int kernel_key_explain(struct host *host, const struct credentials *credentials, struct error *err)
{
    const unsigned type = cephx_key_type(&credentials->key);

    const enum kernel_key_fault fault = kernel_key_fault(err);

    if (type <= OLDEST_TYPE || fault == KERNEL_KEY_FINE)
        return -1;
    _cleanup_free_ char *kernel = name_kernel(host);
    if (fault != KERNEL_KEY_PERHAPS_UNKNOWN)
        error_recode(err, STATUS_FAILED_PRECONDITION);
    if (fault == KERNEL_KEY_WITHOUT_CIPHER)
        return error_hint(err,
                          "%s has no cipher for keys of type %u (%s), and that of user 'client.%s' "
                          "is one: it is in module authenc, and in FIPS mode from Linux 7.2 on",
                          kernel, type, cephx_key_type_name(type), credentials->user);
    _cleanup_free_ char *reason = describe_unknown(kernel, credentials, type);
    return error_hint(err, fault == KERNEL_KEY_UNKNOWN ? "it seems that %s" : "perhaps %s", reason);
}
