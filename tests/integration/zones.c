#include "tests/integration/zones.h"

#include "common/base/memory.h"
#include "tests/test.h"

const struct term ZONES_TERMS[ZONES_TERMS_COUNT] = {
    {"east", "zone-a", "r1", false}, {"east", "zone-b", "r1", false},
    {"east", "zone-b", "r2", false}, {"west", "zone-c", "r1", false},
    {"west", "zone-x", "r9", false}, {"east", "zone-a", NULL, true},
    {NULL, "zone-c", NULL, false},
};

/* --- requests --- */

static void add_segment(json_t *segments, const char *level, const char *value)
{
    if (value)
        json_array_append_new(segments,
                              json_pack("{s:s, s:s}", "domainLabel", level, "value", value));
}

char *zones_pools(const struct site *sites, size_t count)
{
    json_auto_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *segments = json_array();

        add_segment(segments, "region", sites[i].region);
        add_segment(segments, "zone", sites[i].zone);
        add_segment(segments, "rack", sites[i].rack);
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "poolName", sites[i].pool, "domainSegments", segments));
    }
    return json_dumps(list, JSON_INDENT(1)); /* with line breaks, as people write it */
}

static void put(json_t *segments, const char *prefix, bool by_membership, const char *level,
                const char *value)
{
    if (!value)
        return;
    _cleanup_free_ char *member = xasprintf("%smember.%s.%s", prefix, level, value);
    _cleanup_free_ char *plain = xasprintf("%s%s", prefix, level);
    json_object_set_new(segments, member, json_string("true"));
    if (!by_membership)
        json_object_set_new(segments, plain, json_string(value));
}

json_t *zones_topology(const char *prefix, const struct term *term)
{
    json_t *segments = json_object();

    put(segments, prefix, term->by_membership, "region", term->region);
    put(segments, prefix, term->by_membership, "zone", term->zone);
    put(segments, prefix, term->by_membership, "rack", term->rack);
    return json_pack("{s:o}", "segments", segments);
}

static json_t *terms(const char *prefix, const struct term *const *list)
{
    json_t *array = json_array();

    for (; *list; list++)
        json_array_append_new(array, zones_topology(prefix, *list));
    return array;
}

json_t *zones_requirement(const char *prefix, const struct wish *wish)
{
    return json_pack("{s:o, s:o}", "preferred", terms(prefix, wish->preferred), "requisite",
                     terms(prefix, wish->requisite));
}

/* --- the oracle --- */

static bool fits(const char *wanted, const char *there)
{
    return !wanted || (there && strcmp(wanted, there) == 0);
}

static int levels(const struct site *site)
{
    return (site->region != NULL) + (site->zone != NULL) + (site->rack != NULL);
}

/* The first of the most specific pools that the term has; NULL: none. */
static const struct site *serve(const struct site *sites, size_t count, const struct term *term)
{
    const struct site *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct site *site = &sites[i];

        if (fits(site->region, term->region) && fits(site->zone, term->zone) &&
            fits(site->rack, term->rack) && (!best || levels(site) > levels(best)))
            best = site;
    }
    return best;
}

const struct site *zones_oracle(const struct site *sites, size_t count, const struct wish *wish)
{
    const struct site *site = NULL;

    for (size_t i = 0; wish->preferred[i] && !site; i++)
        site = serve(sites, count, wish->preferred[i]);
    for (size_t i = 0; wish->requisite[i] && !site; i++)
        site = serve(sites, count, wish->requisite[i]);
    return site;
}

/* --- wishes --- */

static unsigned random_below(unsigned limit)
{
    static unsigned state = 12345;

    state = state * 1103515245 + 12345;
    return (state >> 16) % limit;
}

static const struct term *random_term(void)
{
    return &ZONES_TERMS[random_below(ZONES_TERMS_COUNT)];
}

void zones_random_wish(struct wish *wish)
{
    unsigned shape = random_below(4);
    unsigned first = random_below(ZONES_TERMS_COUNT);

    *wish = (struct wish){0};
    if (shape == 0)
        wish->preferred[0] = wish->requisite[0] = random_term();
    for (size_t i = 0; shape == 1 && i < ZONES_TERMS_COUNT; i++) {
        wish->requisite[i] = &ZONES_TERMS[i];
        if (i < 3)
            wish->preferred[i] = &ZONES_TERMS[(first + i) % ZONES_TERMS_COUNT];
    }
    for (size_t i = 0; shape == 2 && i < 2; i++)
        wish->preferred[i] = random_term();
    for (size_t i = 0; shape == 3 && i < 3; i++)
        wish->requisite[i] = random_term();
}

/* --- calls --- */

void made_done(struct made *made)
{
    free(made->handle);
    free(made->pool);
    json_decref(made->reply);
}

int zones_create(struct driver_process *driver, json_t *request, struct made *made,
                 struct error *err)
{
    _cleanup_free_ char *text = json_dumps(request, 0);

    json_decref(request);
    if (harness_call(driver, &(struct harness_call){.method = "CreateVolume", .request = text},
                     &made->reply, err) < 0)
        return -1;
    const json_t *volume = json_object_get(made->reply, "volume");
    const json_t *pool = json_object_get(json_object_get(volume, "volume_context"), "pool");
    made->handle = xstrdup(json_string_value(json_object_get(volume, "volume_id")));
    made->pool = pool ? xstrdup(json_string_value(pool)) : NULL;
    made->segments = json_object_get(
        json_array_get(json_object_get(volume, "accessible_topology"), 0), "segments");
    return 0;
}

void zones_must_create(struct driver_process *driver, json_t *request, struct made *made)
{
    _cleanup_error_ struct error err = {0};

    if (zones_create(driver, request, made, &err) < 0)
        fail_msg("%s", err.message);
}

void zones_undo(const char *command)
{
    _cleanup_free_ char *line = xasprintf("ceph %s >&2 || :", command);

    free(harness_run_tool((const char *const[]){"sh", "-c", line, NULL}));
}

void zones_must_delete(struct driver_process *driver, const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (harness_delete_volume(driver, handle, &err) < 0)
        fail_msg("%s", err.message);
}

void zones_assert_refused(struct driver_process *driver, json_t *request, enum status status,
                          const char *part)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_made_ struct made made = {0};

    assert_int_equal(zones_create(driver, request, &made, &err), -1);
    if (err.status != status || !strstr(err.message, part))
        fail_msg("wanted %s with '%s', got %s: %s", status_name(status), part,
                 status_name(err.status), err.message);
}

long long zones_capacity(struct driver_process *driver, json_t *request, json_t *topology,
                         long long *maximum)
{
    json_auto_t *json = json_object();
    json_auto_t *reply = NULL;
    _cleanup_error_ struct error err = {0};

    json_object_set(json, "parameters", json_object_get(request, "parameters"));
    json_decref(request);
    if (topology)
        json_object_set_new(json, "accessible_topology", topology);
    _cleanup_free_ char *text = json_dumps(json, 0);
    if (harness_call(driver, &(struct harness_call){.method = "GetCapacity", .request = text},
                     &reply, &err) < 0)
        fail_msg("%s", err.message);
    if (maximum)
        *maximum = json_integer_value(json_object_get(reply, "maximum_volume_size"));
    return json_integer_value(json_object_get(reply, "available_capacity"));
}

static char *try_one(const struct zones_trial *trial, unsigned index, const char *const *class,
                     unsigned *counts)
{
    _cleanup_free_ char *name = xasprintf("placed-%u", index);
    _cleanup_made_ struct made made = {0};
    struct wish wish;

    zones_random_wish(&wish);
    const struct site *expected = zones_oracle(trial->sites, trial->site_count, &wish);
    zones_must_create(trial->driver, trial->request(name, &wish, class), &made);
    trial->check(&made, expected->pool);
    counts[expected - trial->sites]++;
    return TAKE(made.handle);
}

void zones_try(const struct zones_trial *trial, void (*between)(const unsigned *counts))
{
    _cleanup_free_ char *pools = zones_pools(trial->sites, trial->site_count);
    const char *class[] = {"topologyConstrainedPools", pools, "poolSelection", "first", NULL};
    unsigned *counts = xcalloc(trial->site_count, sizeof(*counts));
    char **handles = xcalloc(trial->volumes, sizeof(*handles));

    for (unsigned i = 0; i < trial->volumes; i++)
        handles[i] = try_one(trial, i, class, counts);
    for (size_t i = 0; i < trial->site_count; i++) {
        assert_true(counts[i] > 0);
        print_message("figure: %u of %u volumes in pool %s, as the oracle says\n", counts[i],
                      trial->volumes, trial->sites[i].pool);
    }
    if (between)
        between(counts);
    for (unsigned i = 0; i < trial->volumes; i++) {
        zones_must_delete(trial->driver, handles[i]);
        free(handles[i]);
    }
    free(handles);
    free(counts);
}

/* --- files of the driver --- */

void zones_write_takeover(const struct driver_process *driver, const char *map)
{
    _cleanup_free_ char *path = xasprintf("%s/takeover.json", driver->folder);
    _cleanup_free_ char *fresh = xasprintf("%s.new", path);
    _cleanup_fclose_ FILE *file = fopen(fresh, "we");

    assert_non_null(file);
    assert_true(fputs(map, file) >= 0);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(rename(fresh, path), 0);
}

void zones_write_keyring(const char *path)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    fprintf(file, "[client.%s]\nkey = %s\n", cluster->user, cluster->key);
}
