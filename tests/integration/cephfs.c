#include "tests/integration/cephfs.h"

#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/integration/place.h"
#include "tests/test.h"

const char *const CEPHFS_FLAGS[] = {"--type=cephfs", "--drivername=cephfs.csi.ceph.com", NULL};

char *cephfs_request(const struct cephfs_wish *wish)
{
    json_auto_t *request = json_pack(
        "{s:s, s:{s:I}, s:[{s:{s:s}, s:{}}], s:{s:s, s:s}}", "name", wish->name, "capacity_range",
        "required_bytes", (json_int_t)wish->size_bytes, "volume_capabilities", "access_mode",
        "mode", wish->mode ? wish->mode : "MULTI_NODE_MULTI_WRITER", "mount", "parameters",
        "clusterID", harness_cluster()->fsid, "fsName", CEPHFS_NAME);

    assert_non_null(request);
    if (wish->source_snapshot)
        json_object_set_new(
            request, "volume_content_source",
            json_pack("{s:{s:s}}", "snapshot", "snapshot_id", wish->source_snapshot));
    if (wish->source_volume)
        json_object_set_new(request, "volume_content_source",
                            json_pack("{s:{s:s}}", "volume", "volume_id", wish->source_volume));
    if (wish->key)
        json_object_set_new(json_object_get(request, "parameters"), wish->key,
                            json_string(wish->value));
    return json_dumps(request, 0);
}

char *cephfs_create(struct driver_process *driver, const struct cephfs_wish *wish,
                    struct error *err)
{
    _cleanup_free_ char *request = cephfs_request(wish);
    const struct harness_call call = {.method = "CreateVolume", .request = request};
    json_auto_t *reply = NULL;

    if (harness_call(driver, &call, &reply, err) < 0)
        return NULL;
    return xstrdup(
        json_string_value(json_object_get(json_object_get(reply, "volume"), "volume_id")));
}

/* --- what there is --- */

static void add_journal(struct text *out)
{
    _cleanup_free_ char *all = harness_pool_contents(CEPHFS_META);
    char *rest = NULL;

    for (char *line = strtok_r(all, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strstr(line, " " CEPHFS_META "/csi/"))
            text_addf(out, "%s\n", line);
}

/* The list that the manager answers to "fs subvolume ..."; empty if what is asked for went away. */
static json_t *ask_for_list(const char *prefix, const char *group, const char *name)
{
    json_auto_t *command =
        json_pack("{s:s, s:s, s:s, s:s, s:s*}", "prefix", prefix, "format", "json", "vol_name",
                  CEPHFS_NAME, "group_name", group, "sub_name", name);
    _cleanup_free_ char *text = json_dumps(command, 0);
    _cleanup_free_ char *answer = place_mgr_command(text);
    json_t *list = answer ? json_loads(answer, 0, NULL) : json_array();

    assert_true(json_is_array(list));
    return list;
}

static void add_subvolume(struct text *out, const char *name)
{
    json_auto_t *snapshots = ask_for_list("fs subvolume snapshot ls", CEPHFS_GROUP, name);
    const json_t *item = NULL;
    size_t i = 0;

    text_addf(out, "subvolume %s\n", name);
    json_array_foreach(snapshots, i, item)
    {
        text_addf(out, "subvolume %s snapshot %s\n", name,
                  json_string_value(json_object_get(item, "name")));
    }
}

char *cephfs_contents(void)
{
    struct text out = TEXT_INIT(8 * 1024 * 1024);
    json_auto_t *list = ask_for_list("fs subvolume ls", CEPHFS_GROUP, NULL);
    const json_t *item = NULL;
    size_t i = 0;

    add_journal(&out);
    json_array_foreach(list, i, item)
    {
        add_subvolume(&out, json_string_value(json_object_get(item, "name")));
    }
    text_add(&out, "");
    return out.chars ? text_take(&out) : xstrdup("");
}

char *cephfs_subvolume_info(const char *name)
{
    json_auto_t *command =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "prefix", "fs subvolume info", "format", "json",
                  "vol_name", CEPHFS_NAME, "group_name", CEPHFS_GROUP, "sub_name", name);
    _cleanup_free_ char *text = json_dumps(command, 0);

    return place_mgr_command(text);
}

void cephfs_assert_empties(void)
{
    struct test_wait wait = {0};
    char *contents = cephfs_contents();

    while (contents[0] && test_wait_more(&wait)) {
        free(contents);
        contents = cephfs_contents();
    }
    if (contents[0])
        fail_msg("left in Ceph:\n%s", contents);
    free(contents);
}

/* --- after a failure --- */

/* A command about a subvolume; whether there is something to do for it does not matter. */
static void remove_by_force(const char *prefix, const char *group, const char *subvolume,
                            const char *snapshot)
{
    json_auto_t *command =
        json_pack("{s:s, s:s, s:s, s:s, s:s*, s:b}", "prefix", prefix, "vol_name", CEPHFS_NAME,
                  "group_name", group, "sub_name", subvolume, "snap_name", snapshot, "force", 1);
    _cleanup_free_ char *text = json_dumps(command, 0);

    free(place_mgr_command(text));
}

/* A clone that has not ended holds its source; so does a snapshot. */
static void remove_subvolume(const char *group, const char *name)
{
    json_auto_t *snapshots = ask_for_list("fs subvolume snapshot ls", group, name);
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach(snapshots, i, item)
    {
        remove_by_force("fs subvolume snapshot rm", group, name,
                        json_string_value(json_object_get(item, "name")));
    }
    remove_by_force("fs subvolume rm", group, name, NULL);
}

static bool has_subvolumes(const char *group)
{
    json_auto_t *list = ask_for_list("fs subvolume ls", group, NULL);
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach(list, i, item)
    {
        remove_subvolume(group, json_string_value(json_object_get(item, "name")));
    }
    return json_array_size(list) > 0;
}

void cephfs_empty_group(const char *group)
{
    wait_until(!has_subvolumes(group)); /* each look removes what can be removed by now */
}

void cephfs_clean_up(void)
{
    harness_kill_drivers();
    cephfs_empty_group(CEPHFS_GROUP);
    place_wipe(CEPHFS_META, "csi");
}
