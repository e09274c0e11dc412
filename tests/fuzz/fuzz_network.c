#include <assert.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/network.h"
#include "common/ceph/blocklist.h"
#include "controller/addons/network_fences.h"
#include "tests/fuzz/bytes.h"

/* Networks come from NetworkFence objects, lists and addresses from Ceph. What is read as a network
 * must be read again from what is printed, and contain itself. */

static void check_network(const char *text)
{
    _cleanup_error_ struct error err = {0};
    struct network network = {0};
    struct network again = {0};
    char printed[NETWORK_TEXT_MAX];
    bool has_host_bits = false;

    if (network_parse(text, &network, &has_host_bits, &err) < 0) {
        assert(err.status == STATUS_INVALID_ARGUMENT && err.message);
        return;
    }
    network_print(&network, printed);
    int status = network_parse(printed, &again, NULL, &err);
    assert(status == 0);
    assert(network_is_equal(&network, &again) && network_contains(&network, &again));
    assert(has_host_bits == (network_parse(text, &again, NULL, &err) < 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = size > 0 ? xstrndup((const char *)data, size) : xstrdup("");
    _cleanup_error_ struct error list_failure = {0};
    _cleanup_error_ struct error address_failure = {0};
    _cleanup_blocklist_ struct blocklist list = {0};
    _cleanup_string_list_ struct string_list cidrs = {0};

    check_network(text);
    if (blocklist_decode(text, &list, &list_failure) == 0)
        for (size_t i = 0; i < list.count; i++)
            check_network(list.items[i].address);
    if (network_fences_decode_addresses(text, &cidrs, &address_failure) == 0)
        for (size_t i = 0; i < cidrs.count; i++)
            check_network(cidrs.items[i]);
    return 0;
}
