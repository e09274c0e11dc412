/* VolumeReplication of csi-addons on a fake cluster; rbd-mirror and the other side are the test's.
 */
#include "controller/addons/replication.h"

#include "tests/unit/fixtures/backends.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/controller_steps.h"

#define RBD_STAGED WITH_STAGE(RBD_SETUP)
typedef int replication_call(const struct controller *controller, struct call *call,
                             const struct replication_request *request, struct error *err);

static struct text commands = TEXT_INIT(65536); /* to the manager */

static int note_command(void *object, const char *command, struct text *reply)
{
    (void)object, (void)reply;
    text_addf(&commands, "%s\n", command);
    return 0;
}

static char *image_of(const char *handle)
{
    return xasprintf("csi-vol-%s", handle + strlen(handle) - UUID_LENGTH);
}

/* Makes a volume. Caller frees the image's name. */
static char *make_volume(struct stage *stage)
{
    _cleanup_error_ struct error err = {0};

    if (step_create_volume(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
    text_done(&commands);
    commands = (struct text)TEXT_INIT(65536);
    fake_ceph_answer_mgr(stage->world.fake, note_command, NULL);
    return image_of(stage->world.volume);
}

/* @parameters: names and values in turn; NULL: none. */
static int ask(struct stage *stage, replication_call *run, bool force,
               const char *const *parameters, struct error *err)
{
    _cleanup_replication_request_ struct replication_request request = {
        .volume.handle = xstrdup(stage->world.volume), .force = force};
    struct call call;

    for (size_t i = 0; parameters && parameters[i]; i += 2)
        strmap_set(&request.parameters, parameters[i], parameters[i + 1]);
    set_credentials(&request.volume.credentials);
    call_init(&call, 1, "Replication", deadline_never());
    int result = run(&stage->process.controller, &call, &request, err);
    call_done(&call);
    return result;
}

static void must(struct stage *stage, replication_call *run, bool force,
                 const char *const *parameters)
{
    _cleanup_error_ struct error err = {0};

    if (ask(stage, run, force, parameters, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_refused(struct stage *stage, replication_call *run, bool force,
                           const char *const *parameters, enum status status, const char *words)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(ask(stage, run, force, parameters, &err), -1);
    assert_string_equal(status_name(err.status), status_name(status));
    if (!strstr(err.message, words))
        fail_msg("'%s' is not in: %s", words, err.message);
}

static void assert_state(struct stage *stage, const char *image, const char *wanted)
{
    _cleanup_text_ struct text dump = TEXT_INIT(1 << 20);

    fake_ceph_dump(stage->world.fake, &dump);
    assert_non_null(strstr(text_chars(&dump), image));
    if (wanted[0] != '\0')
        assert_non_null(strstr(text_chars(&dump), wanted));
    else
        assert_null(strstr(text_chars(&dump), "mirror"));
}

#define PARAMETERS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(volume_is_mirrored_once, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    assert_refused(stage, replication_promote, false, NULL, STATUS_INVALID_ARGUMENT,
                   "is not mirrored");
    must(stage, replication_enable, false, NULL);
    assert_state(stage, image, "primary");
    must(stage, replication_enable, false, NULL);
    must(stage, replication_disable, false, NULL);
    assert_state(stage, image, "");
    must(stage, replication_disable, false, NULL);
}

TEST(unknown_words_of_the_class_are_refused, RBD_STAGED)
{
    const struct {
        const char *const *parameters;
        const char *words;
    } cases[] = {
        {PARAMETERS("mirroringMode", "both"), "mirroringMode: 'both' is neither"},
        {PARAMETERS("flattenMode", "yes"), "flattenMode: 'yes' is neither"},
        {PARAMETERS("force", "1"), "force: '1' is neither"},
        {PARAMETERS("schedulingInterval", "5"), "schedulingInterval: '5'"},
        {PARAMETERS("schedulingInterval", "m"), "schedulingInterval: 'm'"},
        {PARAMETERS("schedulingInterval", "0m"), "schedulingInterval: '0m'"},
        {PARAMETERS("schedulingInterval", "-5m"), "schedulingInterval: '-5m'"},
        {PARAMETERS("schedulingStartTime", "14:00:00"), "needs schedulingInterval"},
        {PARAMETERS("schedulingInterval", "5m", "schedulingStartTime", "noon"), "'noon' is no"},
        {PARAMETERS("schedulingInterval", "5m", "mirroringMode", "journal"), "no schedule"},
    };
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_refused(stage, replication_enable, false, cases[i].parameters,
                       STATUS_INVALID_ARGUMENT, cases[i].words);
    assert_state(stage, image, "");
}

TEST(clone_is_detached_first_where_the_class_says_so, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    free(make_volume(stage));
    if (step_clone(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
    memcpy(stage->world.volume, stage->world.second, sizeof(stage->world.volume));
    assert_refused(stage, replication_enable, false, NULL, STATUS_FAILED_PRECONDITION, "");
    assert_refused(stage, replication_enable, false, PARAMETERS("flattenMode", "force"),
                   STATUS_ABORTED, "is being detached from its parent");
    tasks_run_here(stage->process.controller.tasks);
    must(stage, replication_enable, false, PARAMETERS("flattenMode", "force"));
}

TEST(roles_change_and_so_does_the_schedule, RBD_STAGED)
{
    const char *const *schedule =
        PARAMETERS("schedulingInterval", "15m", "schedulingStartTime", "14:00:00-05:00");
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    must(stage, replication_enable, false, schedule);
    must(stage, replication_promote, false, schedule);
    _cleanup_free_ char *level = xasprintf("\"level_spec\":\"rbd/%s\"", image);
    assert_non_null(strstr(text_chars(&commands), "rbd mirror snapshot schedule add"));
    assert_non_null(strstr(text_chars(&commands), level));
    assert_non_null(strstr(text_chars(&commands), "\"interval\":\"15m\""));
    assert_non_null(strstr(text_chars(&commands), "\"start_time\":\"14:00:00-05:00\""));
    assert_null(strstr(text_chars(&commands), "remove"));
    must(stage, replication_demote, false, schedule);
    assert_non_null(strstr(text_chars(&commands), "rbd mirror snapshot schedule remove"));
    assert_state(stage, image, "secondary");
    assert_state(stage, image, "metadata [.rbd.image.creation_time] = seconds:");
    must(stage, replication_demote, false, schedule);
    must(stage, replication_promote, false, schedule);
    assert_state(stage, image, "primary");
}

TEST(original_elsewhere_is_not_doubled_but_by_force, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    fake_ceph_mirror(stage->world.fake, "rbd", image, false);
    fake_ceph_set_primary_elsewhere(stage->world.fake, "rbd", image, true);
    assert_refused(stage, replication_promote, false, NULL, STATUS_FAILED_PRECONDITION, "");
    assert_state(stage, image, "secondary");
    must(stage, replication_promote, true, NULL);
    assert_state(stage, image, "primary");
}

TEST(volume_in_use_is_not_demoted_but_by_force, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    must(stage, replication_enable, false, NULL);
    /* one watcher may be rbd-mirror */
    fake_ceph_set_watcher(stage->world.fake, "rbd", image, "10.0.0.7:0/3141");
    fake_ceph_set_watcher(stage->world.fake, "rbd", image, "10.0.0.8:0/3141");
    assert_refused(stage, replication_demote, false, NULL, STATUS_FAILED_PRECONDITION,
                   "is in use by client 10.0.0.7:0/3141, 10.0.0.8:0/3141");
    assert_state(stage, image, "primary");
    must(stage, replication_demote, true, NULL);
    assert_state(stage, image, "secondary");
}

/* --- copies --- */

static void set_sites(struct stage *stage, const char *image, const struct mirror_site *local,
                      const struct mirror_site *other)
{
    struct mirror_site sites[] = {*local, *other};

    sites[0].is_local = true;
    fake_ceph_set_sites(stage->world.fake, "rbd", image, sites, ARRAY_LENGTH(sites));
}

static char demoted[] = "remote image demoted";
static char unknown[] = "unknown";
static char split_brain[] = "split-brain detected";
static char replayed[] = "replaying, {\"local_snapshot_timestamp\":1760000000,"
                         "\"last_snapshot_sync_seconds\":7,\"last_snapshot_bytes\":4096}";
static const struct mirror_site QUIET = {.is_up = true, .description = demoted};
static const struct mirror_site DOWN = {.description = unknown};
static const struct mirror_site STUCK = {
    .is_up = true, .state = MIRROR_ERROR, .description = split_brain};
static const struct mirror_site REPLAYING = {
    .is_up = true, .state = MIRROR_REPLAYING, .description = replayed};

TEST(copy_is_left_to_its_original, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    fake_ceph_mirror(stage->world.fake, "rbd", image, false);
    assert_refused(stage, replication_disable, false, NULL, STATUS_FAILED_PRECONDITION,
                   "it has said nothing about it");
    set_sites(stage, image, &STUCK, &QUIET);
    assert_refused(stage, replication_disable, false, NULL, STATUS_FAILED_PRECONDITION,
                   "split-brain");
    set_sites(stage, image, &REPLAYING, &QUIET);
    must(stage, replication_disable, false, NULL);
    assert_state(stage, image, "secondary");
    must(stage, replication_disable, false, PARAMETERS("force", "true"));
    assert_state(stage, image, "");
}

static bool is_ready;

static int resync(const struct controller *controller, struct call *call,
                  const struct replication_request *request, struct error *err)
{
    return replication_resync(controller, call, request, &is_ready, err);
}

static char *id_in_entry(struct stage *stage)
{
    _cleanup_text_ struct text dump = TEXT_INIT(1 << 20);

    fake_ceph_dump(stage->world.fake, &dump);
    const char *found = strstr(text_chars(&dump), "[csi.imageid] = ");
    assert_non_null(found);
    found += strlen("[csi.imageid] = ");
    return xstrndup(found, strcspn(found, "\n"));
}

TEST(copy_is_ready_when_all_are_quiet, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    must(stage, replication_enable, false, NULL);
    assert_refused(stage, resync, false, NULL, STATUS_INVALID_ARGUMENT, "is primary here");
    must(stage, replication_demote, false, NULL);
    assert_refused(stage, resync, false, NULL, STATUS_UNAVAILABLE, "rbd-mirror");
    set_sites(stage, image, &DOWN, &QUIET);
    assert_refused(stage, resync, false, NULL, STATUS_UNAVAILABLE, "rbd-mirror");
    set_sites(stage, image, &QUIET, &DOWN);
    must(stage, resync, false, NULL);
    assert_false(is_ready);
    set_sites(stage, image, &REPLAYING, &QUIET);
    must(stage, resync, false, NULL);
    assert_false(is_ready);
    set_sites(stage, image, &QUIET, &QUIET);
    must(stage, resync, false, NULL);
    assert_true(is_ready);
}

/* Made anew, it has another id, which the entry gets; and it is not made anew again. */
static void check_made_anew_once(struct stage *stage, const struct mirror_site *local, bool force)
{
    _cleanup_free_ char *image = make_volume(stage);

    must(stage, replication_enable, false, NULL);
    must(stage, replication_demote, false, NULL);
    set_sites(stage, image, local, &QUIET);
    _cleanup_free_ char *before = id_in_entry(stage);
    must(stage, resync, force, NULL);
    must(stage, resync, force, NULL);
    _cleanup_free_ char *after = id_in_entry(stage);
    assert_string_not_equal(after, before);
    must(stage, resync, force, NULL);
    must(stage, resync, force, NULL);
    _cleanup_free_ char *last = id_in_entry(stage);
    assert_string_equal(last, after);
}

TEST(stuck_copy_is_made_anew_once, RBD_STAGED)
{
    check_made_anew_once(*state, &STUCK, false);
}

TEST(copy_is_made_anew_by_force_once, RBD_STAGED)
{
    check_made_anew_once(*state, &QUIET, true);
}

TEST(copy_that_was_never_demoted_here_is_not_thrown_away, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);
    _cleanup_free_ char *before = id_in_entry(stage);

    fake_ceph_mirror(stage->world.fake, "rbd", image, false);
    set_sites(stage, image, &QUIET, &QUIET);
    must(stage, resync, true, NULL);
    must(stage, resync, true, NULL);
    _cleanup_free_ char *after = id_in_entry(stage);
    assert_string_equal(after, before);
}

/* --- telling --- */

static int get_info(struct stage *stage, struct replication_info *info, struct error *err)
{
    _cleanup_(handle_request_done) struct handle_request request = {
        .handle = xstrdup(stage->world.volume)};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "GetVolumeReplicationInfo", deadline_never());
    int result = replication_get_info(&stage->process.controller, &call, &request, info, err);
    call_done(&call);
    return result;
}

TEST(info_tells_what_has_arrived, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);
    _cleanup_replication_info_ struct replication_info none = {0};
    _cleanup_replication_info_ struct replication_info info = {0};
    _cleanup_error_ struct error err = {0};

    must(stage, replication_enable, false, NULL);
    set_sites(stage, image, &QUIET, &DOWN);
    assert_int_equal(get_info(stage, &none, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    error_clear(&err);
    set_sites(stage, image, &QUIET, &REPLAYING);
    assert_int_equal(get_info(stage, &info, &err), 0);
    assert_int_equal(info.synced_at, 1760000000);
    assert_true(info.has_duration);
    assert_int_equal(info.duration_s, 7);
    assert_int_equal(info.bytes, 4096);
    assert_int_equal(info.health, REPLICATION_HEALTHY);
    must(stage, replication_demote, false, NULL);
    replication_info_done(&info);
    assert_int_equal(get_info(stage, &info, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
}

/* The old copy is gone, and the new one is not there yet. */
TEST(copy_that_is_being_made_is_waited_for, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    fake_ceph_cut_image(stage->world.fake, "rbd", image);
    assert_refused(stage, resync, false, NULL, STATUS_ABORTED, "about to copy it anew");
    assert_refused(stage, replication_promote, false, NULL, STATUS_NOT_FOUND, "image 'csi-vol-");
}

TEST(missing_volume_is_told, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    free(make_volume(stage));
    if (step_delete_volume(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
    assert_refused(stage, replication_enable, false, NULL, STATUS_NOT_FOUND, "volume '");
    stage->world.volume[0] = '\0';
    assert_refused(stage, replication_enable, false, NULL, STATUS_INVALID_ARGUMENT, "missing");
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
