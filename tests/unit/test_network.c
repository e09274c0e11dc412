#include "common/base/memory.h"
#include "common/base/network.h"
#include "tests/test.h"

static struct network parsed(const char *text)
{
    _cleanup_error_ struct error err = {0};
    struct network network = {0};

    if (network_parse(text, &network, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return network;
}

TEST(networks_and_addresses_are_read)
{
    static const struct {
        const char *text;
        const char *printed;
    } cases[] = {
        {"192.0.2.0/24", "192.0.2.0/24"},
        {"192.0.2.7", "192.0.2.7/32"},
        {"192.0.2.7/32", "192.0.2.7/32"},
        {"192.0.2.4/30", "192.0.2.4/30"},
        {"0.0.0.0/0", "0.0.0.0/0"},
        {"fd00::/64", "fd00::/64"},
        {"FD00:0:0::7", "fd00::7/128"},
        {"::/0", "::/0"},
        {"fd00:0:0:8000::/49", "fd00:0:0:8000::/49"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct network network = parsed(cases[i].text);
        char printed[NETWORK_TEXT_MAX];

        network_print(&network, printed);
        assert_string_equal(printed, cases[i].printed);
    }
}

TEST(anything_else_is_refused)
{
    static const char *const cases[] = {
        "",
        "/24",
        "192.0.2.0/",
        "192.0.2.0/33",
        "192.0.2.0/-1",
        "fd00::/129",
        "192.0.2.0/024",
        "192.0.2.0/2 ",
        " 192.0.2.0/24",
        "192.0.2/24",
        "192.0.2.256",
        "010.0.0.1",
        "192.0.2.0/24/1",
        "fe80::1%eth0",
        "localhost",
        "192.0.2.0/+8",
        "192.0.2.0/1e1",
        "fd00:::1",
        "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111/64",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        struct network network;

        if (network_parse(cases[i], &network, NULL, &err) == 0)
            fail_msg("'%s' was taken", cases[i]);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    }
}

TEST(address_inside_of_a_network_is_told_from_the_network)
{
    _cleanup_error_ struct error err = {0};
    struct network network;
    bool has_host_bits = false;
    char printed[NETWORK_TEXT_MAX];

    assert_int_equal(network_parse("192.0.2.77/24", &network, NULL, &err), -1);
    assert_string_equal(err.message, "'192.0.2.77/24' is an address inside of a network: say "
                                     "'192.0.2.0/24' for all of it or '192.0.2.77/32' for this "
                                     "address");
    error_clear(&err);
    assert_int_equal(network_parse("192.0.2.77/24", &network, &has_host_bits, &err), 0);
    assert_true(has_host_bits);
    network_print(&network, printed);
    assert_string_equal(printed, "192.0.2.0/24");
    assert_int_equal(network_parse("192.0.2.0/24", &network, &has_host_bits, &err), 0);
    assert_false(has_host_bits);
}

TEST(networks_contain_what_is_in_them)
{
    static const struct {
        const char *outer;
        const char *inner;
        bool contains;
    } cases[] = {
        {"192.0.2.0/24", "192.0.2.7", true},     {"192.0.2.0/24", "192.0.2.0/24", true},
        {"192.0.2.0/24", "192.0.3.7", false},    {"192.0.2.0/25", "192.0.2.0/24", false},
        {"0.0.0.0/0", "192.0.2.7", true},        {"0.0.0.0/0", "fd00::7", false},
        {"fd00::/64", "fd00::ffff:0:0:1", true}, {"fd00::/64", "fd00:0:0:1::", false},
        {"192.0.2.4/30", "192.0.2.7", true},     {"192.0.2.4/30", "192.0.2.8", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct network outer = parsed(cases[i].outer);
        struct network inner = parsed(cases[i].inner);

        if (network_contains(&outer, &inner) != cases[i].contains)
            fail_msg("%s and %s", cases[i].outer, cases[i].inner);
    }
}

TEST(addresses_are_counted_from_the_first)
{
    struct network network = parsed("192.0.2.254/31");
    struct network six = parsed("fd00::ff00/120");
    struct network address;
    char printed[NETWORK_TEXT_MAX];

    network_address_at(&network, 1, &address);
    assert_int_equal(address.bits, 32);
    network_print_address(&address, printed);
    assert_string_equal(printed, "192.0.2.255");
    network_address_at(&six, 255, &address);
    network_print(&address, printed);
    assert_string_equal(printed, "fd00::ffff/128");
}
