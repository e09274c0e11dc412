/*
 * The journal on a cluster in memory: which name became which image. What it writes is what
 * Ceph-CSI reads, so keys and values are compared byte for byte.
 */
#include "common/ceph/journal.h"

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"

#define UUID "0a1b2c3d-1111-4222-8333-444455556666"
#define OTHER "0a1b2c3d-1111-4222-8333-444455557777"

static const struct journal VOLUMES = {JOURNAL_VOLUME, "default"};
static const struct uuid_text KNOWN = {UUID};

struct world {
    struct fake_ceph *fake;
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *rbd; /* 3 */
    struct ceph_pool *far; /* 26 */
};

static int world_make(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));
    _cleanup_secret_ struct secret key = {0};
    const struct ceph_target target = {"c1", "127.0.0.1", "csi", &key};
    _cleanup_error_ struct error err = {0};

    secret_set(&key, "AQB");
    world->fake = fake_ceph_new();
    fake_ceph_add_pool(world->fake, "rbd", 3);
    fake_ceph_add_pool(world->fake, "far", 26);
    call_init(&world->call, 1, "Test", deadline_never());
    struct ceph *ceph = fake_ceph_as_ceph(world->fake);
    assert_int_equal(ceph->ops->connect(ceph, &world->call, &target, &world->cluster, &err), 0);
    assert_int_equal(
        ceph->ops->pool_open(world->cluster, &world->call, "rbd", "", &world->rbd, &err), 0);
    assert_int_equal(
        ceph->ops->pool_open(world->cluster, &world->call, "far", "", &world->far, &err), 0);
    *state = world;
    return 0;
}

static int world_free(void **state)
{
    struct world *world = *state;

    ceph_pool_close(world->rbd);
    ceph_pool_close(world->far);
    ceph_disconnect(world->cluster);
    call_done(&world->call);
    assert_int_equal(fake_ceph_open_handles(world->fake), 0);
    fake_ceph_free(world->fake);
    free(world);
    return 0;
}

#define WITH_WORLD .setup_func = world_make, .teardown_func = world_free

static void assert_dump(struct world *world, const char *line, bool is_there)
{
    _cleanup_text_ struct text text = TEXT_INIT(65536);

    fake_ceph_dump(world->fake, &text);
    if (!strstr(text_chars(&text), line) == is_there)
        fail_msg("'%s' is %sin\n%s", line, is_there ? "not " : "", text_chars(&text));
}

static void add_name(struct world *world, struct ceph_pool *directory, const char *value)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(directory->ops->omap_add(directory, &world->call, "csi.volumes.default",
                                              "csi.volume.pvc-1", value, &err),
                     0);
}

/* --- names --- */

TEST(values_are_a_uuid_or_pool_and_uuid, WITH_WORLD)
{
    static const struct {
        const char *value;
        int64_t pool_id; /* -1: DATA_LOSS */
    } cases[] = {
        {UUID, 3},
        {"000000000000001a/" UUID, 26},
        {"000000000000001A/" UUID, 26},
        {"0000000000000003/" UUID, 3},
        {"00000000000000-1/" UUID, -1},
        {"  00000000000003/" UUID, -1},
        {"0x00000000000003/" UUID, -1},
        {"000000000000001a-" UUID, -1},
        {"00000000000001a/" UUID, -1},
        {"0000000000000001a/" UUID, -1},
        {"000000000000001a/" UUID "0", -1},
        {"000000000000001a/0a1b2c3d-1111-4222-8333-44445555666x", -1},
        {"0a1b2c3d", -1},
        {"", -1},
    };
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        struct journal_ref ref = {{OTHER}, -7};
        int result = journal_parse_value(world->rbd, "k", cases[i].value, &ref, &err);

        if (result != (cases[i].pool_id < 0 ? -1 : 0))
            fail_msg("'%s': %d", cases[i].value, result);
        if (result == 0)
            assert_string_equal(ref.uuid.chars, UUID);
        else
            assert_int_equal(err.status, STATUS_DATA_LOSS);
        assert_int_equal(ref.image_pool_id, result < 0 ? -7 : cases[i].pool_id);
    }
}

TEST(claimed_name_is_found_by_the_next, WITH_WORLD)
{
    struct world *world = *state;
    struct journal_ref first = {0};
    struct journal_ref second = {0};
    struct journal_ref found = {0};
    bool fresh = false;
    bool is_found = true;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        journal_find(&VOLUMES, &world->call, world->rbd, "pvc-1", &found, &is_found, &err), 0);
    assert_false(is_found);
    assert_int_equal(
        journal_claim(&VOLUMES, &world->call, world->rbd, "pvc-1", 26, &first, &fresh, &err), 0);
    assert_true(fresh);
    assert_int_equal(first.image_pool_id, 26);
    _cleanup_free_ char *line =
        xasprintf("object rbd//csi.volumes.default [csi.volume.pvc-1] = 000000000000001a/%s\n",
                  first.uuid.chars);
    assert_dump(world, line, true);
    /* in another pool now: who was first decides */
    assert_int_equal(
        journal_claim(&VOLUMES, &world->call, world->rbd, "pvc-1", 3, &second, &fresh, &err), 0);
    assert_false(fresh);
    assert_string_equal(second.uuid.chars, first.uuid.chars);
    assert_int_equal(second.image_pool_id, 26);
    assert_int_equal(
        journal_find(&VOLUMES, &world->call, world->rbd, "pvc-1", &found, &is_found, &err), 0);
    assert_true(is_found);
    assert_string_equal(found.uuid.chars, first.uuid.chars);
}

/* What the call was doing when the directory was written. */
static char stage_seen[128];

static void note_stage(struct call *call)
{
    _cleanup_text_ struct text text = TEXT_INIT(sizeof(stage_seen));

    call_describe(call, &text);
    snprintf(stage_seen, sizeof(stage_seen), "%s", text_chars(&text));
}

static int note_add(struct ceph_pool *pool, struct call *call, const char *object, const char *key,
                    const char *value, struct error *err)
{
    (void)pool, (void)object, (void)key, (void)value, (void)err;
    note_stage(call);
    return 0;
}

static int note_remove(struct ceph_pool *pool, struct call *call, const char *object,
                       const char *key, const char *expected, const struct strmap *added,
                       bool *removed, struct error *err)
{
    (void)pool, (void)object, (void)key, (void)expected, (void)added, (void)err;
    note_stage(call);
    *removed = true;
    return 0;
}

TEST(stage_says_where_a_name_is_reserved_or_given_back)
{
    static const struct ceph_ops ops = {.omap_add = note_add, .omap_remove_if = note_remove};
    static char name[] = "far";
    struct ceph_pool pool = {.ops = &ops, .id = 26, .name = name};
    struct journal_ref ref;
    struct call call;
    bool fresh = false;
    _cleanup_error_ struct error err = {0};

    (void)state;
    call_init(&call, 1, "Test", deadline_never());
    assert_int_equal(journal_claim(&VOLUMES, &call, &pool, "pvc-1", 3, &ref, &fresh, &err), 0);
    assert_true(text_has_prefix(stage_seen, "Test has been reserving the name in pool 'far' for "));
    assert_int_equal(
        journal_release_name(&VOLUMES, &call, &pool, "pvc-1", 3, &ref.uuid, NULL, &err), 0);
    assert_true(
        text_has_prefix(stage_seen, "Test has been giving the name back in pool 'far' for "));
    call_done(&call);
}

TEST(name_of_a_known_uuid_is_claimed_once, WITH_WORLD)
{
    struct world *world = *state;
    const struct journal_ref ref = {KNOWN, 3};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(journal_claim_for(&VOLUMES, &world->call, world->rbd, "pvc-1", &ref, &err), 0);
    assert_dump(world, "object rbd//csi.volumes.default [csi.volume.pvc-1] = " UUID "\n", true);
    assert_int_equal(journal_claim_for(&VOLUMES, &world->call, world->rbd, "pvc-1", &ref, &err),
                     -1);
    assert_int_equal(err.status, STATUS_ABORTED);
}

TEST(several_pools_are_asked_at_once, WITH_WORLD)
{
    struct world *world = *state;
    struct ceph_pool *both[] = {world->rbd, world->far};
    struct journal_ref ref = {0};
    ssize_t index = 7;
    _cleanup_error_ struct error err = {0};

    for (size_t count = 0; count <= 2; count++) {
        index = 7;
        assert_int_equal(journal_find_in_pools(&VOLUMES, &world->call, both, count, "pvc-1", -1,
                                               &ref, &index, &err),
                         0);
        assert_int_equal(index, -1);
    }
    add_name(world, world->far, UUID);
    assert_int_equal(
        journal_find_in_pools(&VOLUMES, &world->call, both, 1, "pvc-1", -1, &ref, &index, &err), 0);
    assert_int_equal(index, -1);
    assert_int_equal(
        journal_find_in_pools(&VOLUMES, &world->call, both + 1, 1, "pvc-1", -1, &ref, &index, &err),
        0);
    assert_int_equal(index, 0);
    assert_int_equal(
        journal_find_in_pools(&VOLUMES, &world->call, both, 2, "pvc-1", -1, &ref, &index, &err), 0);
    assert_int_equal(index, 1);
    assert_string_equal(ref.uuid.chars, UUID);
    assert_int_equal(ref.image_pool_id, 26);
}

TEST(silent_pool_counts_only_when_no_other_has_the_name, WITH_WORLD)
{
    struct world *world = *state;
    struct ceph_pool *both[] = {world->rbd, world->far};
    struct journal_ref ref = {0};
    ssize_t index = 7;
    _cleanup_error_ struct error err = {0};

    fake_ceph_fail_call(world->fake, 1, FAKE_FAIL_AFTER); /* DEADLINE_EXCEEDED: no answer */
    assert_int_equal(
        journal_find_in_pools(&VOLUMES, &world->call, both, 2, "pvc-1", -1, &ref, &index, &err),
        -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "look up name 'pvc-1': pool 'rbd' does not answer"));
    error_clear(&err);
    add_name(world, world->far, UUID);
    fake_ceph_fail_call(world->fake, 1, FAKE_FAIL_AFTER);
    assert_int_equal(
        journal_find_in_pools(&VOLUMES, &world->call, both, 2, "pvc-1", -1, &ref, &index, &err), 0);
    assert_int_equal(index, 1);
    fake_ceph_fail_call(world->fake, 1, FAKE_FAIL_BEFORE);
    assert_int_equal(
        journal_find_in_pools(&VOLUMES, &world->call, both, 2, "pvc-1", -1, &ref, &index, &err),
        -1);
    assert_int_equal(err.status, STATUS_INTERNAL);
}

TEST(name_goes_back_only_while_it_leads_to_the_uuid, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};
    static const struct uuid_text other = {OTHER};

    add_name(world, world->rbd, "000000000000001a/" UUID);
    assert_int_equal(
        journal_release_name(&VOLUMES, &world->call, world->rbd, "pvc-1", 26, &other, NULL, &err),
        0);
    assert_int_equal(
        journal_release_name(&VOLUMES, &world->call, world->rbd, "pvc-1", 3, &KNOWN, NULL, &err),
        0);
    assert_dump(world, "[csi.volume.pvc-1]", true);
    assert_int_equal(
        journal_release_name(&VOLUMES, &world->call, world->rbd, "pvc-1", 26, &KNOWN, NULL, &err),
        0);
    assert_dump(world, "[csi.volume.pvc-1]", false);
}

/* Queued is what has yet to be purged: it must be written whether or not the name is still there,
 * and whatever of it an earlier try has written. */
TEST(queue_is_written_with_or_without_the_name, WITH_WORLD)
{
    static const char *const names[] = {"pvc-1", "pvc-2", NULL}; /* there, not there, unknown */
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        _cleanup_strmap_ struct strmap queued = {0};
        _cleanup_free_ char *first = xasprintf("cephzone.purge.%zu-1", i);
        _cleanup_free_ char *second = xasprintf("cephzone.purge.%zu-2", i);
        _cleanup_free_ char *third = xasprintf("cephzone.purge.%zu-3", i);
        _cleanup_error_ struct error err = {0};

        if (i == 0)
            add_name(world, world->rbd, UUID);
        strmap_set(&queued, first, "x");
        assert_int_equal(journal_release_name(&VOLUMES, &world->call, world->rbd, names[i], 3,
                                              &KNOWN, &queued, &err),
                         0);
        assert_dump(world, first, true);
        strmap_set(&queued, second, "x");
        strmap_set(&queued, third, "x");
        assert_int_equal(journal_release_name(&VOLUMES, &world->call, world->rbd, names[i], 3,
                                              &KNOWN, &queued, &err),
                         0);
        assert_dump(world, second, true);
        assert_dump(world, third, true);
    }
    assert_dump(world, "[csi.volume.pvc-1]", false);
}

/* --- entries --- */

static struct journal_entry entry_of(const char *name)
{
    struct journal_entry entry = {.uuid = KNOWN,
                                  .request_name = xstrdup(name),
                                  .image_name = xstrdup("my-" UUID),
                                  .owner = xstrdup("shop"),
                                  .journal_pool_id = 3};

    strmap_set(&entry.extra, "cephzone.size", "5");
    return entry;
}

TEST(entry_is_read_as_it_was_written, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_journal_entry_ struct journal_entry entry = entry_of("pvc-1");
    _cleanup_journal_entry_ struct journal_entry read = {0};
    _cleanup_error_ struct error err = {0};
    bool found = true;

    assert_int_equal(journal_read(&VOLUMES, &world->call, world->far, &KNOWN, &read, &found, &err),
                     0);
    assert_false(found);
    assert_int_equal(journal_write(&VOLUMES, &world->call, world->far, &entry, &err), 0);
    assert_dump(world, "object far//csi.volume." UUID " [csi.journalpool] = 0000000000000003",
                true);
    assert_dump(world, "object far//csi.volume." UUID " [csi.volname] = pvc-1", true);
    assert_int_equal(journal_write(&VOLUMES, &world->call, world->far, &entry, &err), -1);
    assert_int_equal(err.status, STATUS_ALREADY_EXISTS);
    error_clear(&err);
    assert_int_equal(journal_set_image_id(&VOLUMES, &world->call, world->far, &KNOWN, "id7", &err),
                     0);
    assert_int_equal(journal_read(&VOLUMES, &world->call, world->far, &KNOWN, &read, &found, &err),
                     0);
    assert_true(found);
    assert_string_equal(read.uuid.chars, UUID);
    assert_string_equal(read.request_name, "pvc-1");
    assert_string_equal(read.image_name, "my-" UUID);
    assert_string_equal(read.image_id, "id7");
    assert_string_equal(read.owner, "shop");
    assert_null(read.kms_id);
    assert_int_equal(read.journal_pool_id, 3);
    assert_int_equal(read.extra.count, 1);
    assert_string_equal(strmap_get(&read.extra, "cephzone.size"), "5");
    assert_int_equal(journal_check_name(&read, "pvc-1", &err), 0);
    assert_int_equal(journal_check_name(&read, "pvc-2", &err), -1);
    assert_int_equal(err.status, STATUS_DATA_LOSS);
}

/* A retry may have given the entry another image. */
TEST(entry_is_changed_only_for_the_image_that_it_names, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_journal_entry_ struct journal_entry entry = entry_of("pvc-1");
    _cleanup_journal_entry_ struct journal_entry read = {0};
    _cleanup_strmap_ struct strmap attributes = {0};
    _cleanup_error_ struct error err = {0};
    bool found = false;

    strmap_set(&attributes, "cephzone.size", "7");
    assert_int_equal(journal_write(&VOLUMES, &world->call, world->rbd, &entry, &err), 0);
    assert_int_equal(journal_set_for_image(&VOLUMES, &world->call, world->rbd, &KNOWN,
                                           "my-" UUID "-2", &attributes, &err),
                     -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    assert_dump(world, "[cephzone.size] = 5", true);
    error_clear(&err);
    assert_int_equal(journal_set_for_image(&VOLUMES, &world->call, world->rbd, &KNOWN, "my-" UUID,
                                           &attributes, &err),
                     0);
    assert_int_equal(journal_read(&VOLUMES, &world->call, world->rbd, &KNOWN, &read, &found, &err),
                     0);
    assert_string_equal(read.image_name, "my-" UUID);
    assert_string_equal(read.owner, "shop");
    assert_string_equal(strmap_get(&read.extra, "cephzone.size"), "7");
}

TEST(entry_beside_its_name_says_nothing_of_the_pool, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_journal_entry_ struct journal_entry entry = entry_of("pvc-1");
    _cleanup_journal_entry_ struct journal_entry read = {0};
    _cleanup_error_ struct error err = {0};
    bool found = false;

    assert_int_equal(journal_write(&VOLUMES, &world->call, world->rbd, &entry, &err), 0);
    assert_dump(world, "csi.journalpool", false);
    assert_int_equal(journal_read(&VOLUMES, &world->call, world->rbd, &KNOWN, &read, &found, &err),
                     0);
    assert_int_equal(read.journal_pool_id, -1);
    assert_int_equal(journal_remove(&VOLUMES, &world->call, world->rbd, &KNOWN, &err), 0);
    assert_int_equal(journal_remove(&VOLUMES, &world->call, world->rbd, &KNOWN, &err), 0);
    assert_dump(world, "csi.volume." UUID, false);
}

/* Pool 0 is a pool; -1 says that the pool is not known. */
TEST(pool_of_the_name_is_written_if_it_is_known, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_journal_entry_ struct journal_entry entry = entry_of("pvc-1");
    _cleanup_error_ struct error err = {0};

    entry.journal_pool_id = -1;
    assert_int_equal(journal_write(&VOLUMES, &world->call, world->rbd, &entry, &err), 0);
    assert_dump(world, "csi.journalpool", false);
    entry.journal_pool_id = 0;
    assert_int_equal(journal_fill(&VOLUMES, &world->call, world->rbd, &entry, &err), 0);
    assert_dump(world, "[csi.journalpool] = 0000000000000000", true);
}

/* As Ceph-CSI 3.11 and later write it: the uuid alone, beside the entry, which names no pool. */
TEST(name_is_moved_beside_its_entry, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_journal_entry_ struct journal_entry entry = entry_of("pvc-1");
    const struct journal_ref ref = {entry.uuid, world->far->id};
    _cleanup_error_ struct error err = {0};

    entry.journal_pool_id = world->rbd->id;
    assert_int_equal(journal_claim_for(&VOLUMES, &world->call, world->rbd, "pvc-1", &ref, &err), 0);
    assert_int_equal(journal_write(&VOLUMES, &world->call, world->far, &entry, &err), 0);
    assert_dump(world, "object rbd//csi.volumes.default [csi.volume.pvc-1] = 000000000000001a/",
                true);
    for (int tries = 0; tries < 2; tries++) { /* a second time nothing changes */
        assert_int_equal(
            journal_move_name(&VOLUMES, &world->call, world->rbd, world->far, &entry, &err), 0);
        assert_dump(world, "object rbd//csi.volumes.default [csi.volume.pvc-1]", false);
        assert_dump(world, "object far//csi.volumes.default [csi.volume.pvc-1] = " UUID "\n", true);
        assert_dump(world, "csi.journalpool", false);
    }
}

TEST(name_is_not_moved_over_another, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_journal_entry_ struct journal_entry entry = entry_of("pvc-1");
    const struct journal_ref other = {{OTHER}, world->far->id};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(journal_claim_for(&VOLUMES, &world->call, world->far, "pvc-1", &other, &err),
                     0);
    assert_int_equal(
        journal_move_name(&VOLUMES, &world->call, world->rbd, world->far, &entry, &err), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    assert_non_null(strstr(err.message, "leads to another entry"));
}

TEST(entry_without_an_image_has_the_default_name, WITH_WORLD)
{
    static const char *const prefixes[] = {"csi-vol-", "csi-snap-", "csi-vol-group-"};
    struct world *world = *state;

    for (int kind = JOURNAL_VOLUME; kind <= JOURNAL_GROUP; kind++) {
        const struct journal journal = {(enum journal_kind)kind, "default"};
        _cleanup_free_ char *object = journal_object(&journal, &KNOWN);
        _cleanup_free_ char *name = xasprintf("%s" UUID, prefixes[kind]);
        _cleanup_journal_entry_ struct journal_entry read = {0};
        _cleanup_strmap_ struct strmap attributes = {0};
        _cleanup_error_ struct error err = {0};
        bool found = false;

        strmap_set(&attributes, "csi.journalpool", "not a number");
        assert_int_equal(
            world->rbd->ops->object_create(world->rbd, &world->call, object, &attributes, &err), 0);
        assert_int_equal(
            journal_read(&journal, &world->call, world->rbd, &KNOWN, &read, &found, &err), 0);
        assert_true(found);
        assert_string_equal(read.image_name, name);
        assert_null(read.request_name);
        assert_int_equal(read.journal_pool_id, -1);
    }
}

TEST(failures_name_what_was_tried, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_journal_entry_ struct journal_entry entry = entry_of("pvc-1");
    _cleanup_error_ struct error err = {0};
    struct journal_ref ref = {0};
    bool flag = false;

    fake_ceph_fail_call(world->fake, 1, FAKE_FAIL_BEFORE);
    assert_int_equal(journal_find(&VOLUMES, &world->call, world->rbd, "pvc-1", &ref, &flag, &err),
                     -1);
    assert_non_null(strstr(err.message, "look up name 'pvc-1'"));
    error_clear(&err);
    fake_ceph_fail_call(world->fake, 1, FAKE_FAIL_BEFORE);
    assert_int_equal(
        journal_claim(&VOLUMES, &world->call, world->rbd, "pvc-1", 3, &ref, &flag, &err), -1);
    assert_non_null(strstr(err.message, "reserve name 'pvc-1'"));
    error_clear(&err);
    fake_ceph_fail_call(world->fake, 1, FAKE_FAIL_BEFORE);
    assert_int_equal(journal_write(&VOLUMES, &world->call, world->rbd, &entry, &err), -1);
    assert_non_null(strstr(err.message, "write the journal entry of 'pvc-1'"));
    error_clear(&err);
    fake_ceph_fail_call(world->fake, 1, FAKE_FAIL_BEFORE);
    assert_int_equal(journal_read(&VOLUMES, &world->call, world->rbd, &KNOWN, &entry, &flag, &err),
                     -1);
    assert_non_null(strstr(err.message, "read journal entry '" UUID "'"));
    error_clear(&err);
    fake_ceph_fail_call(world->fake, 1, FAKE_FAIL_BEFORE);
    assert_int_equal(journal_remove(&VOLUMES, &world->call, world->rbd, &KNOWN, &err), -1);
    assert_non_null(strstr(err.message, "remove journal entry '" UUID "'"));
}
