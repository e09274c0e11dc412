#include "common/base/memory.h"
#include "common/kube/objects/driver_objects.h"
#include "tests/test.h"

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    return json;
}

TEST(words_of_a_container_are_expanded_as_kubelet_does)
{
    json_auto_t *json = parse(
        "{\"metadata\": {\"name\": \"w\"}, \"spec\": {\"template\": {\"spec\": {\"containers\": "
        "[{\"name\": \"c\", \"image\": \"i:v1\", \"command\": [\"/bin/driver\", \"--first\"], "
        "\"args\": [\"--name=$(NAME)\", \"$(NAME)-$(LATE)\", \"--node=$(NODE)\", \"--odd=$(\"], "
        "\"env\": [{\"name\": \"NAME\", \"value\": \"old\"}, {\"name\": \"NAME\", \"value\": "
        "\"n\"},"
        " {\"name\": \"NODE\", \"valueFrom\": {}}]}]}}}}");
    struct kube_workload workload = {0};
    _cleanup_string_list_ struct string_list words = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(kube_workload_decode("DaemonSet", json, &workload, &err), 0);
    assert_string_equal(workload.kind, "DaemonSet");
    assert_string_equal(workload.ns, "default");
    assert_string_equal(workload.containers[0].image, "i:v1");
    kube_container_words(&workload.containers[0], &words);
    assert_int_equal(words.count, 5);
    assert_string_equal(words.items[0], "--first");
    assert_string_equal(words.items[1], "--name=n");
    assert_string_equal(words.items[2], "n-$(LATE)");
    assert_string_equal(words.items[3], "--node=$(NODE)");
    assert_string_equal(words.items[4], "--odd=$(");
    kube_workload_done(&workload);
}

TEST(classes_name_their_driver_in_two_ways)
{
    json_auto_t *snapshots = parse("{\"metadata\": {\"name\": \"s\"}, \"driver\": \"d\", "
                                   "\"parameters\": {\"a\": \"b\"}}");
    json_auto_t *attributes = parse("{\"metadata\": {\"name\": \"v\"}, \"driverName\": \"d\"}");
    struct kube_driver_class class = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(kube_driver_class_decode("VolumeSnapshotClass", snapshots, &class, &err), 0);
    assert_string_equal(class.driver, "d");
    assert_string_equal(strmap_get(&class.parameters, "a"), "b");
    kube_driver_class_done(&class);
    assert_int_equal(kube_driver_class_decode("VolumeAttributesClass", attributes, &class, &err),
                     0);
    assert_string_equal(class.driver, "d");
    assert_string_equal(class.name, "v");
    kube_driver_class_done(&class);
    assert_int_equal(kube_driver_class_decode("Pod", attributes, &class, &err), -1);
    kube_driver_class_done(&class);
}

TEST(fault_names_object_and_path)
{
    json_auto_t *json = parse("{\"metadata\": {\"name\": \"w\"}, \"spec\": {\"template\": "
                              "{\"spec\": {\"containers\": [{\"args\": [1]}]}}}}");
    struct kube_workload workload = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(kube_workload_decode("Deployment", json, &workload, &err), -1);
    kube_workload_done(&workload);
    assert_non_null(strstr(err.message, "Deployment 'w'"));
    assert_non_null(strstr(err.message, "containers[0].args[0]"));
}

TEST(only_workloads_have_a_resource)
{
    const char *api = NULL;

    assert_string_equal(kube_workload_resource("StatefulSet"), "statefulsets");
    assert_null(kube_workload_resource("Pod"));
    assert_string_equal(kube_driver_class_resource("VolumeSnapshotClass", &api),
                        "volumesnapshotclasses");
    assert_string_equal(api, "snapshot.storage.k8s.io/v1");
    assert_null(kube_driver_class_resource("StorageClass", &api));
}
