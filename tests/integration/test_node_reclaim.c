/*
 * ReclaimSpace of csi-addons on a real Ceph: what a file system does not use any more, and zeros
 * that were written to an image, take no space afterwards.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/rpc/rpc.h"
#include "tests/integration/node_fixture.h"

#define FILE_BYTES (24 * MIB)

const bool NODE_IS_CEPHFS = false;

static struct driver_process addons; /* its second socket */

static int reclaim(const char *method, const struct test_volume *volume, struct error *err)
{
    const bool is_node = strncmp(method, "Node", 4) == 0;
    _cleanup_free_ char *request =
        is_node ? xasprintf("{\"volume_id\": \"%s\", \"staging_target_path\": \"%s\", "
                            "\"volume_capability\": {\"%s\": {}, \"access_mode\": {\"mode\": "
                            "\"SINGLE_NODE_WRITER\"}}}",
                            volume->handle, volume->staging, volume->fs_type ? "mount" : "block")
                : xasprintf("{\"volume_id\": \"%s\"}", volume->handle);

    return harness_call(&addons, &(struct harness_call){.method = method, .request = request}, NULL,
                        err);
}

/* Bytes of the image's objects, as Ceph has them. */
static long long used_bytes(const struct test_volume *volume)
{
    _cleanup_free_ char *image = image_of(volume->handle);
    _cleanup_free_ char *spec = xasprintf("common/%s", image);
    _cleanup_free_ char *text =
        harness_run_tool((const char *[]){"rbd", "du", "--exact", "--format", "json", spec, NULL});
    json_auto_t *all = json_loads(text, 0, NULL);

    const json_t *own = json_array_get(json_object_get(all, "images"), 0);
    assert_non_null(own);
    return json_integer_value(json_object_get(own, "used_size"));
}

/* Fills a file or a device, past the caches of this machine. */
static void fill(const char *path, int flags, char byte)
{
    _cleanup_free_ char *block = NULL;
    _cleanup_close_ int fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC | flags, 0600);

    assert_true(fd >= 0);
    assert_int_equal(posix_memalign((void **)&block, 4096, MIB), 0);
    memset(block, byte, MIB);
    for (long long done = 0; done < FILE_BYTES; done += MIB)
        assert_int_equal(write(fd, block, MIB), MIB);
    assert_int_equal(fsync(fd), 0);
}

NODE_TEST(blocks_of_a_deleted_file_are_freed)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&volume, "trimmed", 64 * MIB);
    put_up(&volume);
    _cleanup_free_ char *path = xasprintf("%s/file", volume.target);
    fill(path, O_CREAT, 'x');
    long long full = used_bytes(&volume);
    assert_true(full >= FILE_BYTES);
    assert_int_equal(unlink(path), 0);
    sync();
    assert_true(used_bytes(&volume) >= FILE_BYTES);
    must(reclaim("NodeReclaimSpace", &volume, &err));
    long long left = used_bytes(&volume);
    print_message("figure: NodeReclaimSpace after a file of %lld bytes was deleted: %lld bytes "
                  "before, %lld after\n",
                  FILE_BYTES, full, left);
    assert_true(left < full - FILE_BYTES / 2);
    must(reclaim("NodeReclaimSpace", &volume, &err));
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(zeros_in_an_unused_image_are_freed)
{
    struct test_volume volume = {0};

    test_volume_create(&volume, "zeros", 64 * MIB);
    put_up(&volume);
    fill(volume.target, 0, 0);
    long long full = used_bytes(&volume);
    assert_true(full >= FILE_BYTES);
    must(reclaim("ControllerReclaimSpace", &volume, &err)); /* it is in use: its node may do it */
    assert_int_equal(used_bytes(&volume), full);
    must_refuse(reclaim("NodeReclaimSpace", &volume, &err), STATUS_UNIMPLEMENTED, "block volume");
    take_down(&volume);
    must(reclaim("ControllerReclaimSpace", &volume, &err));
    long long left = used_bytes(&volume);
    print_message("figure: ControllerReclaimSpace of %lld bytes of zeros: %lld bytes before, %lld "
                  "after\n",
                  FILE_BYTES, full, left);
    assert_true(left < full - FILE_BYTES / 2);
    put_up(&volume);
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(data_stay_as_they_are)
{
    struct test_volume volume = plain_volume("kept");

    put_up(&volume);
    write_durably(volume.target, "hello", "written by a pod");
    must(reclaim("NodeReclaimSpace", &volume, &err));
    take_down(&volume);
    must(reclaim("ControllerReclaimSpace", &volume, &err));
    put_up(&volume);
    assert_file(volume.target, "hello", "written by a pod");
    take_down(&volume);
    test_volume_delete(&volume);
}

static int begin(void **state)
{
    static char flag[512];
    _cleanup_error_ struct error err = {0};

    (void)state;
    node_fixture_init();
    addons.endpoint = xasprintf("unix://%s/csi-addons.sock", node.driver.folder);
    snprintf(flag, sizeof(flag), "--csi-addons-endpoint=%s", addons.endpoint);
    node.flags[0] = flag;
    node_fixture_start();
    if (rpc_client_new(addons.endpoint, &addons.client, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

static int end(void **state)
{
    rpc_client_free(addons.client);
    free(addons.endpoint);
    return node_fixture_end(state);
}

TEST_GROUP(begin, end)
