#include "common/linux/host.h"
#include "common/linux/host_ops.h"
#include "common/linux/kernel_key_types.h"
#include "tests/test.h"

/* tests/vm asks kernels that have a client of Ceph; most that run this have none, and do not tell.
 */
TEST(a_kernel_never_refuses_keys_of_type_1)
{
    struct host *host = host_new("/var/lib/kubelet", "/run/cephzone/keys");

    assert_false(host->ops->refuses_key_type(host, 1));
    host_free(host);
}

TEST(failures_that_a_key_can_be_the_reason_of)
{
    static const struct {
        int error;
        enum kernel_key_fault fault;
    } cases[] = {{KERNEL_ENOTSUPP, KERNEL_KEY_UNKNOWN},
                 {ENOPKG, KERNEL_KEY_WITHOUT_CIPHER},
                 {ENOTSUP, KERNEL_KEY_FINE},
                 {EINVAL, KERNEL_KEY_PERHAPS_UNKNOWN},
                 {EPERM, KERNEL_KEY_FINE},
                 {0, KERNEL_KEY_FINE}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct error err = {.sys_errno = cases[i].error};

        assert_int_equal(kernel_key_fault(&err), cases[i].fault);
    }
}
