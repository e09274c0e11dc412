#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "common/volume/client_keys.h"
#include "tests/must.h"
#include "tests/test.h"

/* What volumes know of their clients, to the letter as Ceph-CSI writes it, and how Ceph prints
 * addresses. */

#define HANDLE "0001-0009-rook-ceph-0000000000000002-b0285c97-a0ce-41eb-8c66-0242ac110002"

TEST(address_is_the_host_alone)
{
    static const struct {
        const char *text;
        const char *address; /* NULL: refused */
    } cases[] = {
        {"10.0.0.7:0/3141", "10.0.0.7"},
        {"v1:10.0.0.7:0/3141", "10.0.0.7"},
        {"v2:10.0.0.7:0/3141", "10.0.0.7"},
        {"any:10.0.0.7:0/3141", "10.0.0.7"},
        {"[fd00::7]:0/3141", "fd00::7"},
        {"[FD00:0::7]:0/3141", "fd00::7"},
        {"v2:[fd00::7]:0/3141", "fd00::7"},
        {"[v2:10.0.0.7:0/1,v1:10.0.0.7:0/1]", "10.0.0.7"},
        {"[v2:[fd00::7]:0/1,v1:[fd00::7]:0/1]", "fd00::7"},
        {"10.0.0.7", "10.0.0.7"},
        {"fd00::7", "fd00::7"},
        {"", NULL},
        {"-", NULL},
        {":/0", NULL},
        {"0.0.0.0", NULL},
        {"::", NULL},
        {"0.0.0.0:0/3141", NULL},
        {"[::]:0/3141", NULL},
        {"[fd00::7", NULL},
        {"[10.0.0.7]:0/1", NULL},
        {"host:0/3141", NULL},
        {"10.0.0:0/3141", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *address = NULL;

        if (client_address_parse(cases[i].text, &address, &err) < 0) {
            assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
            if (cases[i].address)
                fail_msg("'%s' is refused: %s", cases[i].text, err.message);
        } else if (!cases[i].address) {
            fail_msg("'%s' is taken for %s", cases[i].text, address);
        } else {
            assert_string_equal(address, cases[i].address);
        }
    }
}

/* --- writing --- */

TEST(node_writes_what_ceph_csi_writes)
{
    static const struct {
        bool is_cephfs;
        const char *address_key;
        const char *user_key;
    } cases[] = {
        {false, ".rbd.csi.ceph.com/clientaddress/" HANDLE "/node-1",
         ".rbd.csi.ceph.com/userid/" HANDLE "/node-1"},
        {true, ".cephfs.csi.ceph.com/clientaddress/" HANDLE "/node-1",
         ".cephfs.csi.ceph.com/userid/" HANDLE "/node-1"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct client_place place = {cases[i].is_cephfs, HANDLE};
        _cleanup_strmap_ struct strmap entries = {0};

        must(client_keys_fill(&place, "node-1", "[v2:[fd00::7]:0/1,v1:[fd00::7]:0/1]",
                              "csi-rbd-node.1", &entries, &err));
        assert_int_equal(entries.count, 2);
        assert_string_equal(strmap_get_or(&entries, cases[i].address_key, ""), "fd00::7");
        assert_string_equal(strmap_get_or(&entries, cases[i].user_key, ""), "csi-rbd-node.1");
        must_refuse(client_keys_fill(&place, "node-1", ":/0", "csi", &entries, &err),
                    STATUS_INTERNAL, "no address");
    }
}

TEST(volume_without_journal_has_the_lasting_record)
{
    const struct client_place place = {false, NULL};
    _cleanup_strmap_ struct strmap entries = {0};

    must(client_keys_fill(&place, "node-1", "10.0.0.7:0/3141", "csi", &entries, &err));
    assert_int_equal(entries.count, 1);
    assert_string_equal(strmap_get_or(&entries, ".rbd.csi.ceph.com/clientAddress/node-1", ""),
                        "10.0.0.7:0/3141");
}

/* --- reading --- */

TEST(every_form_is_read_and_the_newest_counts)
{
    const struct client_place place = {false, HANDLE};
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_strmap_ struct strmap clients = {0};

    strmap_set(&metadata, METADATA_RBD_CLIENT HANDLE "/new", "10.0.0.1");
    strmap_set(&metadata, METADATA_RBD_CLIENT "new", "10.0.0.2");
    strmap_set(&metadata, CLIENT_RECORD_RBD "new", "10.0.0.3:0/9");
    strmap_set(&metadata, METADATA_RBD_CLIENT "first", "10.0.0.4");
    strmap_set(&metadata, CLIENT_RECORD_RBD "first", "10.0.0.5:0/9");
    strmap_set(&metadata, CLIENT_RECORD_RBD "ours", "10.0.0.6:0/9");
    strmap_set(&metadata, METADATA_RBD_CLIENT "another-handle/node", "10.0.0.8");
    strmap_set(&metadata, METADATA_RBD_USER HANDLE "/new", "csi");
    strmap_set(&metadata, METADATA_CEPHFS_CLIENT HANDLE "/cephfs", "10.0.0.9");
    strmap_set(&metadata, "rbd_cache", "false");
    must(client_keys_read(&place, &metadata, &clients, &err));
    assert_int_equal(clients.count, 3);
    assert_string_equal(strmap_get_or(&clients, "new", ""), "10.0.0.1");
    assert_string_equal(strmap_get_or(&clients, "first", ""), "10.0.0.4");
    assert_string_equal(strmap_get_or(&clients, "ours", ""), "10.0.0.6");
}

TEST(what_is_no_address_is_refused_and_named)
{
    const struct client_place place = {true, HANDLE};
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_strmap_ struct strmap clients = {0};

    strmap_set(&metadata, METADATA_CEPHFS_CLIENT HANDLE "/node-1", "here");
    must_refuse(client_keys_read(&place, &metadata, &clients, &err), STATUS_INVALID_ARGUMENT,
                METADATA_CEPHFS_CLIENT HANDLE "/node-1");
    assert_int_equal(clients.count, 0);
}

/* --- detaching --- */

TEST(address_of_a_detached_node_becomes_the_lasting_record)
{
    const struct client_place place = {false, HANDLE};
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_string_list_ struct string_list removed = {0};

    strmap_set(&metadata, METADATA_RBD_CLIENT HANDLE "/node-1", "10.0.0.7");
    strmap_set(&metadata, METADATA_RBD_USER HANDLE "/node-1", "csi");
    strmap_set(&metadata, METADATA_RBD_CLIENT HANDLE "/node-2", "10.0.0.8");
    strmap_set(&metadata, METADATA_RBD_CLIENT "node-1", "10.0.0.6");
    strmap_set(&metadata, METADATA_RBD_ACCOUNT, "builder");
    client_keys_retire(&place, "node-1", &metadata, &entries, &removed);
    assert_int_equal(removed.count, 3);
    assert_true(string_list_has(&removed, METADATA_RBD_CLIENT HANDLE "/node-1"));
    assert_true(string_list_has(&removed, METADATA_RBD_USER HANDLE "/node-1"));
    assert_true(string_list_has(&removed, METADATA_RBD_CLIENT "node-1"));
    assert_int_equal(entries.count, 1);
    assert_string_equal(strmap_get_or(&entries, CLIENT_RECORD_RBD "node-1", ""), "10.0.0.7");
}

TEST(nothing_changes_for_a_node_that_is_not_known)
{
    const struct client_place place = {true, HANDLE};
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_string_list_ struct string_list removed = {0};

    strmap_set(&metadata, METADATA_CEPHFS_CLIENT HANDLE "/node-1", "10.0.0.7");
    strmap_set(&metadata, CLIENT_RECORD_CEPHFS "node-2", "10.0.0.7");
    client_keys_retire(&place, "node-2", &metadata, &entries, &removed);
    assert_int_equal(entries.count + removed.count, 0);
}
