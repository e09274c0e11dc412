/*
 * Volumes and their places on a real Ceph with three zones. What should happen is worked out by an
 * oracle of its own: it walks all terms and all pools, without an index, and knows nothing of the
 * driver's code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/place.h"

#define MIB (1024LL * 1024)
#define PREFIX "topology.rbd.csi.ceph.com/"
#define VOLUMES 300
#define ARGUMENTS_MAX 16

extern char **environ;

static struct driver_process driver;

/* --- the world ----------------------------------------------------------------------------------
 */

struct site {
    const char *pool;
    const char *region, *zone, *rack; /* NULL: any */
};

static const struct site SITES[] = {
    {"common", NULL, NULL, NULL},
    {"zone-a", "east", "zone-a", NULL},
    {"zone-b", "east", "zone-b", "r1"},
    {"zone-c", "west", "zone-c", NULL},
};

struct term {
    const char *region, *zone, *rack;
    bool by_membership; /* no plain segments */
};

static const struct term TERMS[] = {
    {"east", "zone-a", "r1", false}, {"east", "zone-b", "r1", false},
    {"east", "zone-b", "r2", false}, {"west", "zone-c", "r1", false},
    {"west", "zone-x", "r9", false}, {"east", "zone-a", NULL, true},
    {NULL, "zone-c", NULL, false},
};

static void run(const char *program, const char *const *words)
{
    const char *argv[ARGUMENTS_MAX] = {program};
    _cleanup_error_ struct error err = {0};
    size_t count = 1;

    for (; words[count - 1]; count++)
        argv[count] = words[count - 1];
    const struct subprocess spec = {.argv = argv,
                                    .environment = (const char *const *)environ,
                                    .deadline = deadline_in_ms(60000)};
    if (subprocess_check(&spec, NULL, &err) < 0)
        fail_msg("%s", err.message);
}
#define CEPH(...) run("ceph", (const char *const[]){__VA_ARGS__, NULL})

/* What "rbd ls" shows. */
static size_t count_images(const char *pool)
{
    _cleanup_place_ struct place place = place_open(pool, NULL);
    _cleanup_string_list_ struct string_list keys = {0};
    size_t count = 0;

    place_keys(&place, "rbd_directory", &keys);
    for (size_t i = 0; i < keys.count; i++)
        count += text_has_prefix(keys.items[i], "name_");
    return count;
}

/* --- requests -----------------------------------------------------------------------------------
 */

static void add_segment(json_t *segments, const char *level, const char *value)
{
    if (value)
        json_array_append_new(segments,
                              json_pack("{s:s, s:s}", "domainLabel", level, "value", value));
}

/* The class parameter for SITES. */
static char *constrained_pools(void)
{
    json_auto_t *list = json_array();

    for (size_t i = 0; i < ARRAY_LENGTH(SITES); i++) {
        json_t *segments = json_array();

        add_segment(segments, "region", SITES[i].region);
        add_segment(segments, "zone", SITES[i].zone);
        add_segment(segments, "rack", SITES[i].rack);
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "poolName", SITES[i].pool, "domainSegments", segments));
    }
    return json_dumps(list, JSON_INDENT(1)); /* with line breaks, as people write it */
}

static void put(json_t *segments, bool by_membership, const char *level, const char *value)
{
    if (!value)
        return;
    _cleanup_free_ char *member = xasprintf(PREFIX "member.%s.%s", level, value);
    _cleanup_free_ char *plain = xasprintf(PREFIX "%s", level);
    json_object_set_new(segments, member, json_string("true"));
    if (!by_membership)
        json_object_set_new(segments, plain, json_string(value));
}

static json_t *topology(const struct term *term)
{
    json_t *segments = json_object();

    put(segments, term->by_membership, "region", term->region);
    put(segments, term->by_membership, "zone", term->zone);
    put(segments, term->by_membership, "rack", term->rack);
    return json_pack("{s:o}", "segments", segments);
}

struct wish {
    const struct term *preferred[4];
    const struct term *requisite[8];
};

static json_t *terms(const struct term *const *list)
{
    json_t *array = json_array();

    for (; *list; list++)
        json_array_append_new(array, topology(*list));
    return array;
}

/* CreateVolume's request with the class's further @parameters: "key", "value", ..., NULL. */
static json_t *request(const char *name, const struct wish *wish, const char *const *parameters)
{
    _cleanup_free_ char *plain = harness_create_request(name, "common", 4 * MIB);
    json_t *json = json_loads(plain, 0, NULL);
    json_t *class = json_object_get(json, "parameters");

    for (; *parameters; parameters += 2)
        json_object_set_new(class, parameters[0], json_string(parameters[1]));
    if (wish)
        json_object_set_new(json, "accessibility_requirements",
                            json_pack("{s:o, s:o}", "preferred", terms(wish->preferred),
                                      "requisite", terms(wish->requisite)));
    return json;
}

struct made {
    char *handle;
    char *pool;
    json_t *segments; /* borrowed from reply; NULL if unpinned */
    json_t *reply;
};

static void made_done(struct made *made)
{
    free(made->handle);
    free(made->pool);
    json_decref(made->reply);
}
#define _cleanup_made_ _cleanup_(made_done)

/* Takes @json over. */
static int create(json_t *json, struct made *made, struct error *err)
{
    _cleanup_free_ char *text = json_dumps(json, 0);

    json_decref(json);
    if (harness_call(&driver, &(struct harness_call){.method = "CreateVolume", .request = text},
                     &made->reply, err) < 0)
        return -1;
    const json_t *volume = json_object_get(made->reply, "volume");
    made->handle = xstrdup(json_string_value(json_object_get(volume, "volume_id")));
    made->pool = xstrdup(
        json_string_value(json_object_get(json_object_get(volume, "volume_context"), "pool")));
    made->segments = json_object_get(
        json_array_get(json_object_get(volume, "accessible_topology"), 0), "segments");
    return 0;
}

static void must_create(json_t *json, struct made *made)
{
    _cleanup_error_ struct error err = {0};

    if (create(json, made, &err) < 0)
        fail_msg("%s", err.message);
}

static void must_delete(const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (harness_delete_volume(&driver, handle, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_refused(json_t *json, enum status status, const char *part)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_made_ struct made made = {0};

    assert_int_equal(create(json, &made, &err), -1);
    if (err.status != status || !strstr(err.message, part))
        fail_msg("wanted %s with '%s', got %s: %s", status_name(status), part,
                 status_name(err.status), err.message);
}

/* GetCapacity of a class in a place; NULL: everywhere. */
static long long capacity(const struct term *place, const char *const *parameters,
                          long long *maximum)
{
    json_auto_t *create_request = request("unused", NULL, parameters);
    json_auto_t *json = json_object();
    json_auto_t *reply = NULL;
    _cleanup_error_ struct error err = {0};

    json_object_set(json, "parameters", json_object_get(create_request, "parameters"));
    if (place)
        json_object_set_new(json, "accessible_topology", topology(place));
    _cleanup_free_ char *text = json_dumps(json, 0);
    if (harness_call(&driver, &(struct harness_call){.method = "GetCapacity", .request = text},
                     &reply, &err) < 0)
        fail_msg("%s", err.message);
    if (maximum)
        *maximum = json_integer_value(json_object_get(reply, "maximum_volume_size"));
    return json_integer_value(json_object_get(reply, "available_capacity"));
}

static void write_takeover(const char *map)
{
    _cleanup_free_ char *path = xasprintf("%s/takeover.json", driver.folder);
    _cleanup_free_ char *fresh = xasprintf("%s.new", path);
    _cleanup_fclose_ FILE *file = fopen(fresh, "we");

    assert_non_null(file);
    assert_true(fputs(map, file) >= 0);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(rename(fresh, path), 0);
}

static void assert_all_empty(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(SITES); i++)
        harness_assert_pool_empties(SITES[i].pool);
}

/* --- the oracle ---------------------------------------------------------------------------------
 */

static bool fits(const char *wanted, const char *there)
{
    return !wanted || (there && strcmp(wanted, there) == 0);
}

static int levels(const struct site *site)
{
    return (site->region != NULL) + (site->zone != NULL) + (site->rack != NULL);
}

/* The first of the most specific pools that the term has; NULL: none. */
static const struct site *serve(const struct term *term)
{
    const struct site *best = NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(SITES); i++) {
        const struct site *site = &SITES[i];

        if (fits(site->region, term->region) && fits(site->zone, term->zone) &&
            fits(site->rack, term->rack) && (!best || levels(site) > levels(best)))
            best = site;
    }
    return best;
}

static const struct site *oracle(const struct wish *wish)
{
    const struct site *site = NULL;

    for (size_t i = 0; wish->preferred[i] && !site; i++)
        site = serve(wish->preferred[i]);
    for (size_t i = 0; wish->requisite[i] && !site; i++)
        site = serve(wish->requisite[i]);
    return site;
}

/* --- tests --------------------------------------------------------------------------------------
 */

static unsigned random_below(unsigned limit)
{
    static unsigned state = 12345;

    state = state * 1103515245 + 12345;
    return (state >> 16) % limit;
}

static const struct term *random_term(void)
{
    return &TERMS[random_below(ARRAY_LENGTH(TERMS))];
}

/* All shapes: one term, all terms in the provisioner's rotation, preferred alone, requisite alone.
 */
static void random_wish(struct wish *wish)
{
    unsigned shape = random_below(4);
    unsigned first = random_below(ARRAY_LENGTH(TERMS));

    *wish = (struct wish){0};
    if (shape == 0)
        wish->preferred[0] = wish->requisite[0] = random_term();
    for (size_t i = 0; shape == 1 && i < ARRAY_LENGTH(TERMS); i++) {
        wish->requisite[i] = &TERMS[i];
        if (i < 3)
            wish->preferred[i] = &TERMS[(first + i) % ARRAY_LENGTH(TERMS)];
    }
    for (size_t i = 0; shape == 2 && i < 2; i++)
        wish->preferred[i] = random_term();
    for (size_t i = 0; shape == 3 && i < 3; i++)
        wish->requisite[i] = random_term();
}

static void volumes_land_where_the_oracle_says(void **state)
{
    _cleanup_free_ char *pools = constrained_pools();
    const char *class[] = {"topologyConstrainedPools", pools, "poolSelection", "first", NULL};
    char *handles[VOLUMES];
    unsigned counts[ARRAY_LENGTH(SITES)] = {0};

    (void)state;
    for (size_t i = 0; i < VOLUMES; i++) {
        _cleanup_free_ char *name = xasprintf("placed-%zu", i);
        _cleanup_made_ struct made made = {0};
        struct wish wish;

        random_wish(&wish);
        const struct site *expected = oracle(&wish);
        must_create(request(name, &wish, class), &made);
        assert_string_equal(made.pool, expected->pool);
        counts[expected - SITES]++;
        handles[i] = TAKE(made.handle);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(SITES); i++) {
        assert_int_equal(count_images(SITES[i].pool), counts[i]);
        print_message("figure: %u of %d volumes in pool %s, as the oracle says\n", counts[i],
                      VOLUMES, SITES[i].pool);
    }
    for (size_t i = 0; i < VOLUMES; i++) {
        must_delete(handles[i]);
        free(handles[i]);
    }
    assert_all_empty();
}

static void spread_is_even(void **state)
{
    _cleanup_free_ char *pools = constrained_pools();
    const char *class[] = {"topologyConstrainedPools", pools, "poolSelection", "spread", NULL};
    char *handles[VOLUMES];
    size_t fewest = VOLUMES;
    size_t most = 0;

    (void)state;
    json_auto_t *three = json_loads(pools, 0, NULL);
    json_array_remove(three, 0); /* without the pool for everywhere: three equals */
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(json_array_get(three, i), "domainSegments", json_array());
    _cleanup_free_ char *equal = json_dumps(three, 0);
    class[1] = equal;
    for (size_t i = 0; i < ARRAY_LENGTH(handles); i++) {
        _cleanup_free_ char *name = xasprintf("spread-%zu", i);
        _cleanup_made_ struct made made = {0};

        must_create(request(name, NULL, class), &made);
        handles[i] = TAKE(made.handle);
    }
    for (size_t i = 1; i < ARRAY_LENGTH(SITES); i++) {
        size_t count = count_images(SITES[i].pool);

        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
    }
    print_message("figure: spread of %zu volumes over 3 pools: %zu to %zu in each\n",
                  ARRAY_LENGTH(handles), fewest, most);
    assert_true(most - fewest <= 1);
    for (size_t i = 0; i < ARRAY_LENGTH(handles); i++) {
        must_delete(handles[i]);
        free(handles[i]);
    }
    assert_all_empty();
}

static void retry_elsewhere_is_the_same_volume(void **state)
{
    _cleanup_free_ char *pools = constrained_pools();
    const char *with_pool[] = {"topologyConstrainedPools", pools, NULL};
    const char *without_pool[] = {"topologyConstrainedPools", pools, "pool", "", NULL};
    static const struct wish in_a = {.preferred = {&TERMS[0]}};
    static const struct wish in_c = {.preferred = {&TERMS[3]}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *const *class = i ? without_pool : with_pool;
        _cleanup_made_ struct made first = {0};
        _cleanup_made_ struct made again = {0};
        json_t *json[2] = {request("moved", &in_a, class), request("moved", &in_c, class)};

        for (int j = 0; i && j < 2; j++)
            json_object_del(json_object_get(json[j], "parameters"), "pool");
        must_create(json[0], &first);
        must_create(json[1], &again);
        assert_string_equal(first.pool, "zone-a");
        assert_string_equal(again.handle, first.handle);
        assert_true(json_equal(again.segments, first.segments));
        must_delete(first.handle);
        assert_all_empty();
    }
}

static void pinning_is_as_narrow_as_the_pool(void **state)
{
    static const struct {
        const char *pinning;
        const struct term *term;
        const char *segments; /* JSON; NULL: unpinned */
    } cases[] = {
        {"auto", &TERMS[0], "{\"" PREFIX "member.zone.zone-a\": \"true\"}"},
        {"auto", &TERMS[1], "{\"" PREFIX "member.rack.r1\": \"true\"}"},
        {"plain", &TERMS[0], "{\"" PREFIX "region\": \"east\", \"" PREFIX "zone\": \"zone-a\"}"},
        {"membership", &TERMS[3], "{\"" PREFIX "member.zone.zone-c\": \"true\"}"},
        {"standard", &TERMS[3],
         "{\"topology.kubernetes.io/region\": \"west\", \"topology.kubernetes.io/zone\": "
         "\"zone-c\"}"},
        {"none", &TERMS[0], NULL},
        {"auto", &TERMS[4], NULL}, /* the pool for everywhere */
        {"auto", &TERMS[5], "{\"" PREFIX "member.zone.zone-a\": \"true\"}"},
    };
    _cleanup_free_ char *pools = constrained_pools();

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *class[] = {"topologyConstrainedPools", pools, "topologyPinning",
                               cases[i].pinning, NULL};
        const struct wish wish = {.preferred = {cases[i].term}};
        json_auto_t *expected = cases[i].segments ? json_loads(cases[i].segments, 0, NULL) : NULL;
        _cleanup_made_ struct made made = {0};

        must_create(request("pinned", &wish, class), &made);
        if (expected ? !json_equal(expected, made.segments) : made.segments != NULL)
            fail_msg("case %zu: %s", i, json_dumps(made.reply, 0));
        must_delete(made.handle);
    }
    assert_all_empty();
}

/* The OSDs report every few seconds, and the driver's figures have their age too. */
static void wait_for_room(const struct term *place, const char *const *class, bool wanted)
{
    bool has = !wanted;

    for (int tries = 0; has != wanted && tries < 150; tries++) {
        has = capacity(place, class, NULL) > 0;
        if (has != wanted)
            usleep(200000);
    }
    assert_int_equal(has, wanted);
}

static void full_pool_is_skipped_and_has_no_capacity(void **state)
{
    _cleanup_free_ char *pools = constrained_pools();
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    _cleanup_made_ struct made made = {0};

    (void)state;
    json_auto_t *zones = json_loads(pools, 0, NULL);
    json_array_remove(zones, 0); /* nothing serves everywhere */
    _cleanup_free_ char *text = json_dumps(zones, 0);
    class[1] = text;
    /* zone-c's pool wants its region too */
    static const struct term in_c = {"west", "zone-c", NULL, false};
    assert_true(capacity(&in_c, class, NULL) > 0);
    run("rados", (const char *const[]){"-p", "zone-c", "put", "filler", driver.config_path, NULL});
    CEPH("osd", "pool", "set-quota", "zone-c", "max_bytes", "1");
    wait_for_room(&in_c, class, false);
    const struct wish wish = {.requisite = {&in_c}};
    assert_refused(request("full", &wish, class), STATUS_RESOURCE_EXHAUSTED,
                   "pool 'zone-c' (region=west,zone=zone-c): quota used up");
    const struct wish either = {.requisite = {&in_c, &TERMS[0]}};
    must_create(request("full-elsewhere", &either, class), &made);
    assert_string_equal(made.pool, "zone-a");
    must_delete(made.handle);
    CEPH("osd", "pool", "set-quota", "zone-c", "max_bytes", "0");
    run("rados", (const char *const[]){"-p", "zone-c", "rm", "filler", NULL});
    wait_for_room(&in_c, class, true);
    assert_all_empty();
}

static void capacity_is_that_of_the_place(void **state)
{
    _cleanup_free_ char *pools = constrained_pools();
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    const char *plain[] = {NULL};
    json_auto_t *zones = json_loads(pools, 0, NULL);
    static const struct term nowhere = {"north", "zone-n", NULL, false};
    long long largest = 0;

    (void)state;
    json_array_remove(zones, 0);
    _cleanup_free_ char *text = json_dumps(zones, 0);
    class[1] = text;
    long long one = capacity(&TERMS[0], class, &largest);
    assert_true(one > 0);
    assert_int_equal(largest, one);
    long long all = capacity(NULL, class, &largest);
    assert_true(all > 2 * one); /* three roots of the same size */
    assert_true(largest < all);
    assert_int_equal(capacity(&nowhere, class, NULL), 0);
    assert_true(capacity(&nowhere, plain, NULL) > 0); /* a plain pool serves everywhere */
}

static void nothing_new_in_a_place_that_is_taken_over(void **state)
{
    _cleanup_free_ char *pools = constrained_pools();
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    static const struct wish in_a = {.requisite = {&TERMS[0]}};
    json_auto_t *zones = json_loads(pools, 0, NULL);
    _cleanup_made_ struct made made = {0};

    (void)state;
    json_array_remove(zones, 0);
    _cleanup_free_ char *text = json_dumps(zones, 0);
    class[1] = text;
    write_takeover("{\"zone-a\": [\"zone-b\"]}");
    assert_int_equal(capacity(&TERMS[0], class, NULL), 0);
    assert_refused(request("taken", &in_a, class), STATUS_RESOURCE_EXHAUSTED,
                   "its place is being taken over by others");
    write_takeover("{}");
    assert_true(capacity(&TERMS[0], class, NULL) > 0);
    must_create(request("taken", &in_a, class), &made);
    assert_string_equal(made.pool, "zone-a");
    must_delete(made.handle);
    assert_all_empty();
}

static void restore_stays_in_its_pool_unless_the_class_says_copy(void **state)
{
    _cleanup_free_ char *pools = constrained_pools();
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    const char *copying[] = {"topologyConstrainedPools", pools, "crossPoolRestore", "copy", NULL};
    static const struct wish in_a = {.preferred = {&TERMS[0]}};
    static const struct wish in_c = {.requisite = {&TERMS[3]}};
    _cleanup_error_ struct error err = {0};
    _cleanup_made_ struct made source = {0};
    _cleanup_made_ struct made beside = {0};
    _cleanup_made_ struct made copy = {0};

    (void)state;
    must_create(request("origin", &in_a, class), &source);
    _cleanup_free_ char *snapshot = call_snapshot(&driver, "origin-snap", source.handle, &err);
    assert_non_null(snapshot);
    json_t *requests[3] = {request("restored", &in_a, class), request("refused", &in_c, class),
                           request("copied", &in_c, copying)};
    for (int i = 0; i < 3; i++)
        json_object_set_new(requests[i], "volume_content_source",
                            json_pack("{s:{s:s}}", "snapshot", "snapshot_id", snapshot));
    must_create(requests[0], &beside);
    assert_string_equal(beside.pool, "zone-a");
    assert_refused(requests[1], STATUS_RESOURCE_EXHAUSTED, "not the pool of the source");
    must_create(requests[2], &copy);
    assert_string_equal(copy.pool, "zone-c");
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    must_delete(source.handle);
    must_delete(beside.handle);
    for (int tries = 0; tries < 100; tries++) { /* a copy needs its source no more, soon */
        _cleanup_free_ char *left = harness_pool_contents("zone-a");

        if (left[0] == '\0')
            break;
        usleep(100000);
    }
    harness_assert_pool_empties("zone-a");
    must_delete(copy.handle);
    assert_all_empty();
}

static void pools_carry_their_places(void **state)
{
    const char *class[] = {"topologyPools", "auto", "topologyClass", "fast", NULL};
    const struct wish in_a = {.preferred = {&(struct term){NULL, "zone-a", NULL, false}}};
    const struct wish in_b = {.preferred = {&(struct term){NULL, "zone-b", NULL, false}}};
    const struct wish in_d = {.preferred = {&(struct term){NULL, "zone-d", NULL, false}}};
    _cleanup_made_ struct made by_metadata = {0};
    _cleanup_made_ struct made by_rule = {0};
    _cleanup_made_ struct made later = {0};
    _cleanup_error_ struct error err = {0};

    (void)state;
    assert_refused(request("nobody", &in_a, class), STATUS_RESOURCE_EXHAUSTED, "cephzone.class");
    CEPH("osd", "pool", "application", "set", "zone-a", "rbd", "cephzone.class", "fast");
    CEPH("osd", "pool", "application", "set", "zone-a", "rbd", "cephzone.zone", "zone-a");
    CEPH("osd", "pool", "application", "set", "zone-b", "rbd", "cephzone.class", "fast");
    usleep(2500000); /* the figures are up to two seconds old */
    must_create(request("auto-a", &in_a, class), &by_metadata);
    assert_string_equal(by_metadata.pool, "zone-a");
    must_create(request("auto-b", &in_b, class), &by_rule);
    assert_string_equal(by_rule.pool, "zone-b");
    assert_refused(request("auto-d", &in_d, class), STATUS_RESOURCE_EXHAUSTED, "zone=zone-d");
    CEPH("osd", "pool", "create", "zone-d", "8", "8", "replicated", "zone-c-rule", "--size", "1");
    CEPH("osd", "pool", "application", "enable", "zone-d", "rbd");
    CEPH("osd", "pool", "application", "set", "zone-d", "rbd", "cephzone.class", "fast");
    CEPH("osd", "pool", "application", "set", "zone-d", "rbd", "cephzone.zone", "zone-d");
    for (int tries = 0; !later.handle && tries < 100; tries++) {
        error_clear(&err);
        if (create(request("auto-d", &in_d, class), &later, &err) < 0)
            usleep(200000);
    }
    if (!later.handle)
        fail_msg("%s", err.message);
    assert_string_equal(later.pool, "zone-d");
    must_delete(by_metadata.handle);
    must_delete(by_rule.handle);
    must_delete(later.handle);
    harness_assert_pool_empties("zone-d");
    CEPH("osd", "pool", "application", "rm", "zone-a", "rbd", "cephzone.class");
    CEPH("osd", "pool", "application", "rm", "zone-a", "rbd", "cephzone.zone");
    CEPH("osd", "pool", "application", "rm", "zone-b", "rbd", "cephzone.class");
    CEPH("osd", "pool", "rm", "zone-d", "zone-d", "--yes-i-really-really-mean-it");
    assert_all_empty();
}

static void two_clusters_behind_one_class(void **state)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *config = xasprintf("[{\"clusterID\": \"%s\", \"monitors\": [\"%s\"]},"
                                            " {\"clusterID\": \"second\", \"monitors\": [\"%s\"]}]",
                                            cluster->fsid, cluster->monitors, cluster->monitors);
    const char *class[] = {
        "topologyConstrainedPools",
        "[{\"poolName\": \"zone-a\", \"domainSegments\": [{\"domainLabel\": \"zone\", \"value\": "
        "\"zone-a\"}]}, {\"poolName\": \"zone-b\", \"clusterID\": \"second\", \"domainSegments\": "
        "[{\"domainLabel\": \"zone\", \"value\": \"zone-b\"}]}]",
        NULL};
    const struct wish in_a = {.preferred = {&(struct term){NULL, "zone-a", NULL, false}}};
    const struct wish in_b = {.preferred = {&(struct term){NULL, "zone-b", NULL, false}}};
    _cleanup_made_ struct made second = {0};
    _cleanup_made_ struct made again = {0};

    (void)state;
    harness_write_config(&driver, config);
    must_create(request("far", &in_b, class), &second);
    assert_string_equal(second.pool, "zone-b");
    assert_non_null(strstr(second.handle, "-second-"));
    must_create(request("far", &in_a, class), &again);
    assert_string_equal(again.handle, second.handle);
    must_delete(second.handle);
    assert_all_empty();
}

static void mistakes_in_a_class_are_told_with_their_place(void **state)
{
    static const struct {
        const char *pools;
        const char *message;
    } cases[] = {
        {"[]", "the list is empty"},
        {"{}", "expected an array"},
        {"[{\"poolName\":\"zone-a\",\"domainSegment\":[]}]", "[0].domainSegment: unknown key"},
        {"[{\"pool_name\":\"zone-a\",\"domainSegments\":[]}]", "[0].pool_name: unknown key"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a\"},"
         "{\"domainLabel\":\"zone\",\"value\":\"b\"}]}]",
         "[0]: domainSegments[1].domainLabel: 'zone' is there twice"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[]},{\"poolName\":\"zone-a\","
         "\"domainSegments\":[]}]",
         "[1] is the same pool 'zone-a' for the same domains as [0]"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[]},{\"poolName\":\"nope\","
         "\"domainSegments\":[]}]",
         "topologyConstrainedPools[1].poolName: there is no pool 'nope'"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[{\"domainLabel\":"
         "\"topology.kubernetes.io/zone\",\"value\":\"a\"}]}]",
         "only what stands behind the slash counts"},
    };
    static const struct wish anywhere = {.preferred = {&TERMS[0]}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *class[] = {"topologyConstrainedPools", cases[i].pools, NULL};

        assert_refused(request("mistake", &anywhere, class), STATUS_INVALID_ARGUMENT,
                       cases[i].message);
    }
    assert_all_empty();
}

static void write_keyring(const char *path)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    fprintf(file, "[client.%s]\nkey = %s\n", cluster->user, cluster->key);
}

static int start(void **state)
{
    (void)state;
    /* also for the pool that a test adds */
    CEPH("auth", "caps", "client.csi", "mon", "profile rbd, allow r", "mgr", "allow rw", "mds",
         "allow *", "osd", "profile rbd, allow rw tag cephfs *=*");
    rpc_init();
    harness_init(&driver);
    _cleanup_free_ char *keyring = xasprintf("%s/keyring", driver.folder);
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", keyring);
    write_keyring(keyring);
    _cleanup_free_ char *takeover = xasprintf("--takeover-file=%s/takeover.json", driver.folder);
    harness_start(&driver,
                  (const char *[]){flag, takeover, "--capacity-interval=2s", "--v=3", NULL});
    return 0;
}

static int stop(void **state)
{
    (void)state;
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_land_where_the_oracle_says),
        cmocka_unit_test(spread_is_even),
        cmocka_unit_test(retry_elsewhere_is_the_same_volume),
        cmocka_unit_test(pinning_is_as_narrow_as_the_pool),
        cmocka_unit_test(full_pool_is_skipped_and_has_no_capacity),
        cmocka_unit_test(capacity_is_that_of_the_place),
        cmocka_unit_test(nothing_new_in_a_place_that_is_taken_over),
        cmocka_unit_test(restore_stays_in_its_pool_unless_the_class_says_copy),
        cmocka_unit_test(pools_carry_their_places),
        cmocka_unit_test(mistakes_in_a_class_are_told_with_their_place),
        cmocka_unit_test(two_clusters_behind_one_class),
    };

    return cmocka_run_group_tests_name("topology", tests, start, stop);
}
