/* io.max of pods: where it is, what is written, and what is left alone. */
#include "node/pod_limits.h"

#include <sys/sysmacros.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_host.h"
#include "tests/must.h"

#define POD "0a1b2c3d-1111-4222-8333-444455556666"
#define SLICE "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
#define IO_MAX "/sys/fs/cgroup/" SLICE "0a1b2c3d_1111_4222_8333_444455556666.slice/io.max"
#define LIMITS "rbps=max wbps=1048576 riops=100 wiops=max"
#define DEVICE makedev(252, 16)

struct world {
    struct fake_host *host;
    struct pod_limits *limits;
};

static struct world world;

static void begin(const char *file, const char *content)
{
    world = (struct world){fake_host_new(NULL), pod_limits_new()};
    if (file)
        fake_host_add_file(world.host, file, content);
}

static void end(void)
{
    pod_limits_free(world.limits);
    fake_host_free(world.host);
}

static int set(const char *pod, const char *wanted, bool *is_missing, struct error *err)
{
    return pod_limits_set(world.limits, fake_host_as_host(world.host), pod, DEVICE, wanted,
                          is_missing, err);
}

static void must_set(const char *wanted, bool wanted_missing)
{
    bool is_missing = !wanted_missing;

    must(set(POD, wanted, &is_missing, &err));
    assert_int_equal(is_missing, wanted_missing);
}

static bool host_has(const char *part)
{
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);

    fake_host_dump(world.host, &text);
    return strstr(text_chars(&text), part);
}

TEST(limits_are_written_in_the_first_cgroup_of_the_pod)
{
    static const char *const places[] = {
        "kubepods.slice/kubepods-pod0a1b2c3d_1111_4222_8333_444455556666.slice",
        SLICE "0a1b2c3d_1111_4222_8333_444455556666.slice",
        "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-"
        "pod0a1b2c3d_1111_4222_8333_444455556666.slice",
        "kubepods/pod" POD,
        "kubepods/burstable/pod" POD,
        "kubepods/besteffort/pod" POD,
    };

    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        _cleanup_free_ char *file = xasprintf("/sys/fs/cgroup/%s/io.max", places[i]);
        _cleanup_free_ char *wanted = xasprintf("path %s 2 252:16 " LIMITS, file);

        begin(file, "");
        must_set(LIMITS, false);
        assert_true(host_has(wanted));
        end();
    }
}

TEST(pod_without_a_cgroup_is_told_and_gets_its_limits_later)
{
    begin(NULL, NULL);
    must_set(LIMITS, true);
    fake_host_add_file(world.host, IO_MAX, "");
    must_set(LIMITS, false);
    assert_true(host_has("252:16 " LIMITS));
    end();
}

TEST(what_is_as_wanted_is_not_written)
{
    begin(IO_MAX, "8:0 rbps=1 wbps=max riops=max wiops=max\n252:16 " LIMITS "\n");
    must_set(LIMITS, false);
    assert_true(host_has("8:0 rbps=1")); /* the fake keeps one line of those that are written */
    end();
}

TEST(another_device_with_a_similar_number_is_another)
{
    begin(IO_MAX, "252:160 " LIMITS "\n");
    must_set(LIMITS, false);
    assert_true(host_has("252:16 " LIMITS));
    end();
}

TEST(only_limits_of_this_driver_are_lifted)
{
    begin(IO_MAX, "252:16 " LIMITS "\n");
    must_set(NULL, false); /* an administrator's, perhaps */
    assert_true(host_has("252:16 " LIMITS));
    must_set(LIMITS, false); /* found as wanted: ours from now on */
    must_set(NULL, false);
    assert_false(host_has("252:16"));
    fake_host_add_file(world.host, IO_MAX, "252:16 rbps=7 wbps=max riops=max wiops=max\n");
    must_set(NULL, false); /* lifted once, and not ours any more */
    assert_true(host_has("rbps=7"));
    end();
}

TEST(limits_of_pods_that_ended_are_forgotten)
{
    _cleanup_string_list_ struct string_list pods = {0};

    begin(IO_MAX, "");
    must_set(LIMITS, false);
    string_list_add(&pods, POD);
    pod_limits_keep(world.limits, &pods);
    string_list_done(&pods);
    pod_limits_keep(world.limits, &pods);
    must_set(NULL, false);
    assert_true(host_has("252:16 " LIMITS));
    end();
}

TEST(uid_that_is_no_uuid_is_refused)
{
    static const char *const pods[] = {
        "", "..", "../../x", (POD "/"), ("a" POD), "0a1b2c3d-1111-4222-8333-44445555666/"};

    begin(IO_MAX, "");
    for (size_t i = 0; i < ARRAY_LENGTH(pods); i++) {
        bool is_missing = false;

        must_refuse(set(pods[i], LIMITS, &is_missing, &err), STATUS_INVALID_ARGUMENT, "is no uuid");
    }
    end();
}

TEST(failures_of_the_machine_are_told)
{
    begin(IO_MAX, "");
    for (unsigned n = 1;; n++) {
        _cleanup_error_ struct error err = {0};
        bool is_missing = false;

        fake_host_fail_call(world.host, n, FAKE_FAIL_BEFORE);
        int result = set(POD, LIMITS, &is_missing, &err);
        bool struck = !fake_host_fault_is_pending(world.host);

        fake_host_recover(world.host);
        assert_int_equal(result, struck ? -1 : 0);
        if (!struck)
            break;
        assert_true(n < 10);
    }
    assert_true(host_has("252:16 " LIMITS));
    end();
}

TEST(path_of_kubelet_names_the_pod)
{
    static const struct {
        const char *path;
        const char *pod;
    } cases[] = {
        {"/var/lib/kubelet/pods/" POD "/volumes/kubernetes.io~csi/pvc-1/mount", POD},
        {"/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/pvc-1/" POD, POD},
        {"/var/lib/kubelet/pods/" POD, NULL},
        {"/var/lib/kubelet/pods/static-pod/volumes/kubernetes.io~csi/pvc-1/mount", NULL},
        {"/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/pvc-1/x", NULL},
        {"/kubelet/target", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *pod = kubelet_path_pod(cases[i].path);

        if (cases[i].pod)
            assert_string_equal(pod, cases[i].pod);
        else
            assert_null(pod);
    }
}
