#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/encoding/yaml.h"
#include "common/scheduling/cluster_objects.h"
#include "tests/test.h"

static int read_text(struct cluster_objects *cluster, const char *text, struct error *err)
{
    json_auto_t *json = NULL;
    int result = text[0] == '{' || text[0] == '['
                     ? json_load_text(text, strlen(text), "test", &json, err)
                     : yaml_load_text(text, strlen(text), "test", &json, err);

    return result < 0 ? -1 : cluster_read(cluster, json, err);
}

#define PV_SPEC                                                                                    \
    "\"spec\":{\"capacity\":{\"storage\":\"10Gi\"},\"accessModes\":[\"ReadWriteOnce\"],"           \
    "\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"h\"},\"claimRef\":{\"namespace\":\"ns\","        \
    "\"name\":\"c\",\"uid\":\"u\"}},\"status\":{\"phase\":\"Bound\"}"
#define PV "{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"pv-1\"}," PV_SPEC "}"

TEST(volume_is_read_whole)
{
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(read_text(&cluster, PV, &err), 0);
    const struct kube_pv *pv = cluster_find_pv(&cluster, "pv-1");
    assert_non_null(pv);
    assert_int_equal(quantity_value(&pv->capacity), INT64_C(10) << 30);
    assert_int_equal(pv->access_modes, KUBE_ACCESS_RWO);
    assert_string_equal(pv->driver, "d");
    assert_string_equal(pv->handle, "h");
    assert_true(pv->has_claim);
    assert_string_equal(pv->claim.uid, "u");
    assert_string_equal(pv->phase, "Bound");
    assert_false(pv->has_required);
}

TEST(lists_arrays_and_single_objects_are_read)
{
    static const char *const TEXTS[] = {
        PV,
        "{\"kind\":\"List\",\"items\":[" PV "]}",
        "{\"kind\":\"PersistentVolumeList\",\"items\":[{\"metadata\":{\"name\":\"pv-1\"}}]}",
        "[" PV ",{\"kind\":\"List\",\"items\":[]}]",
        "kind: PersistentVolume\nmetadata: {name: pv-1}\nspec: {capacity: {storage: 10}}\n",
        "---\n---\nkind: PersistentVolume\nmetadata:\n  name: pv-1\n---\nkind: ConfigMap\n",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(TEXTS); i++) {
        _cleanup_cluster_ struct cluster_objects cluster = {0};
        _cleanup_error_ struct error err = {0};

        if (read_text(&cluster, TEXTS[i], &err) < 0)
            fail_msg("%s", err.message);
        assert_non_null(cluster_find_pv(&cluster, "pv-1"));
    }
}

TEST(binding_mode_is_read_in_both_spellings)
{
    static const struct {
        const char *mode;
        enum kube_binding_mode expected;
    } cases[] = {
        {"bindingMode: WaitForFirstConsumer", KUBE_BINDING_WAIT},
        {"bindingMode: Immediate", KUBE_BINDING_IMMEDIATE},
        {"bindingMode: Immediate\nvolumeBindingMode: WaitForFirstConsumer", KUBE_BINDING_WAIT},
        {"reclaimPolicy: Delete", KUBE_BINDING_UNSET},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *text = xasprintf(
            "kind: StorageClass\nmetadata: {name: sc}\nprovisioner: p\n%s\n", cases[i].mode);
        _cleanup_cluster_ struct cluster_objects cluster = {0};
        _cleanup_error_ struct error err = {0};

        if (read_text(&cluster, text, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(cluster_find_class(&cluster, "sc")->mode, cases[i].expected);
    }
}

TEST(every_kind_is_read)
{
    static const char TEXT[] =
        "kind: Node\nmetadata: {name: 'n', labels: {zone: a}}\n"
        "spec: {unschedulable: true, taints: [{key: k, effect: NoSchedule}]}\n"
        "status: {conditions: [{type: Ready, status: 'False'}]}\n---\n"
        "kind: PersistentVolumeClaim\nmetadata: {name: c, namespace: ns, annotations: {a: b}}\n"
        "spec: {resources: {requests: {storage: 1.5Gi}}, selector: {matchLabels: {x: z}}}\n---\n"
        "kind: StorageClass\nmetadata: {name: sc}\nprovisioner: p\n"
        "volumeBindingMode: WaitForFirstConsumer\nparameters: {pool: x}\n"
        "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]\n---\n"
        "kind: CSIDriver\nmetadata: {name: p}\n"
        "spec: {storageCapacity: true, preventPodSchedulingIfMissing: true}\n---\n"
        "kind: CSINode\nmetadata: {name: 'n'}\n"
        "spec: {drivers: [{name: p, nodeID: i, topologyKeys: [zone], allocatable: {count: 5}}, "
        "{name: q}]}\n---\n"
        "kind: CSIStorageCapacity\nmetadata: {name: cap, namespace: ns}\nstorageClassName: sc\n"
        "capacity: 10Gi\nmaximumVolumeSize: 5Gi\nnodeTopology: {matchLabels: {zone: a}}\n---\n"
        "kind: Pod\nmetadata: {name: p, namespace: ns}\nspec:\n  nodeSelector: {zone: a}\n"
        "  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}, {name: e, ephemeral: {}}, "
        "{name: i, csi: {driver: d}}, {name: x, emptyDir: {}}]\n"
        "  tolerations: [{key: k, operator: Exists}]\n---\n"
        "kind: VolumeAttachment\nmetadata: {name: va}\n"
        "spec: {attacher: p, nodeName: 'n', source: {persistentVolumeName: pv}}\n";
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_error_ struct error err = {0};

    if (read_text(&cluster, TEXT, &err) < 0)
        fail_msg("%s", err.message);
    const struct kube_node *node = cluster_find(&cluster, KUBE_NODE, NULL, "n");
    assert_true(node->is_unschedulable);
    assert_string_equal(node->taints[0].effect, "NoSchedule");
    const struct kube_pvc *claim = cluster_find_pvc(&cluster, "ns", "c");
    assert_int_equal(quantity_value(&claim->request), INT64_C(3) << 29);
    assert_true(claim->selector.is_set);
    const struct kube_class *class = cluster_find_class(&cluster, "sc");
    assert_int_equal(class->mode, KUBE_BINDING_WAIT);
    assert_int_equal(class->allowed.count, 1);
    const struct kube_csi_driver *driver = cluster_find(&cluster, KUBE_CSI_DRIVER, NULL, "p");
    assert_true(driver->tracks_capacity && driver->must_be_on_the_node);
    const struct kube_csi_node *csi_node = cluster_find(&cluster, KUBE_CSI_NODE, NULL, "n");
    assert_int_equal(csi_node->drivers[0].limit, 5);
    assert_true(csi_node->drivers[0].has_limit);
    assert_false(csi_node->drivers[1].has_limit);
    const struct kube_capacity *capacity = cluster_find(&cluster, KUBE_CAPACITY, "ns", "cap");
    assert_true(capacity->has_capacity && capacity->has_maximum && capacity->topology.is_set);
    const struct kube_pod *pod = cluster_find(&cluster, KUBE_POD, "ns", "p");
    assert_int_equal(pod->volume_count, 4);
    assert_string_equal(pod->volumes[0].claim_name, "c");
    assert_string_equal(pod->volumes[1].claim_name, "p-e");
    assert_int_equal(pod->volumes[2].kind, KUBE_VOLUME_CSI);
    assert_int_equal(pod->volumes[3].kind, KUBE_VOLUME_OTHER);
    const struct kube_attachment *attachment = cluster_find(&cluster, KUBE_ATTACHMENT, NULL, "va");
    assert_string_equal(attachment->pv_name, "pv");
}

TEST(mistakes_are_told_with_their_place)
{
    static const struct {
        const char *text;
        const char *message;
    } CASES[] = {
        {"[1]", "expected a Kubernetes object"},
        {"{}", "kind is missing"},
        {"{\"kind\":5}", "kind: expected a string"},
        {"{\"items\":{}}", "items: expected an array"},
        {"{\"items\":[{\"kind\":\"Pod\"}]}", "items[0]: Pod '': metadata.name is missing"},
        {"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a/b\"}}", "Pod 'a/b': metadata.name"},
        {"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a'b\"}}", "metadata.name"},
        {"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"A\"}}",
         "metadata.namespace"},
        {"{\"kind\":\"Pod\",\"metadata\":{\"name\":7}}", "metadata.name: expected a string"},
        {"{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\",\"labels\":[]}}",
         "metadata.labels: expected an object"},
        {"{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"v\"},\"spec\":{\"accessModes\":"
         "[\"ReadWriteOnce\",\"RWO\"]}}",
         "PersistentVolume 'v': spec.accessModes[1]: there is no access mode 'RWO'"},
        {"{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":"
         "{\"storage\":\"ten\"}}}",
         "spec.capacity.storage"},
        {"{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":"
         "{\"storage\":[]}}}",
         "spec.capacity.storage: expected a quantity"},
        {"{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"v\"},\"spec\":{\"nodeAffinity\":"
         "{\"required\":[]}}}",
         "spec.nodeAffinity.required"},
        {"{\"kind\":\"StorageClass\",\"metadata\":{\"name\":\"s\"},\"volumeBindingMode\":\"Soon\"}",
         "volumeBindingMode: expected 'Immediate' or 'WaitForFirstConsumer'"},
        {"{\"kind\":\"StorageClass\",\"metadata\":{\"name\":\"s\"},\"allowedTopologies\":{}}",
         "allowedTopologies"},
        {"{\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":\"c\"},\"spec\":{\"selector\":"
         "5}}",
         "spec.selector"},
        {"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"affinity\":{\"nodeAffinity\":"
         "{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":\"x\"}]}}}}",
         "preferredDuringSchedulingIgnoredDuringExecution[0]: weight"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(CASES); i++) {
        _cleanup_cluster_ struct cluster_objects cluster = {0};
        _cleanup_error_ struct error err = {0};

        assert_int_equal(read_text(&cluster, CASES[i].text, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, CASES[i].message))
            fail_msg("'%s' is not in '%s'", CASES[i].message, err.message);
    }
}

TEST(sizes_beyond_all_reason_are_refused)
{
    json_auto_t *node =
        json_pack("{s:s, s:{s:s, s:{}}}", "kind", "Node", "metadata", "name", "n", "labels");
    json_t *labels = json_object_get(json_object_get(node, "metadata"), "labels");
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i <= KUBE_LABELS_MAX; i++) {
        _cleanup_free_ char *key = xasprintf("k%d", i);

        json_object_set_new(labels, key, json_string(""));
    }
    assert_int_equal(cluster_read(&cluster, node, &err), -1);
    assert_non_null(strstr(err.message, "metadata.labels: 4097 entries"));
}

TEST(a_later_object_replaces_an_earlier_one)
{
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(read_text(&cluster, "[" PV "," PV ",{\"kind\":\"ConfigMap\"}]", &err), 0);
    assert_int_equal(cluster_count(&cluster, KUBE_PV), 1);
    assert_int_equal(cluster.foreign_count, 1);
    cluster_settle(&cluster);
    assert_int_equal(cluster_claim_index(&cluster, "ns", "c")->pvs.count, 1);
    cluster_remove(&cluster, KUBE_PV, NULL, "pv-1");
    assert_int_equal(cluster_claim_index(&cluster, "ns", "c")->pvs.count, 0);
    assert_null(cluster_find_pv(&cluster, "pv-1"));
}

static void *decode_one(enum kube_kind kind, const char *text)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *value = json_loads(text, 0, NULL);
    void *object = NULL;

    if (kube_object_decode(kind, value, &object, &err) < 0)
        fail_msg("%s", err.message);
    return object;
}

TEST(what_the_driver_reads_is_decoded)
{
    struct kube_node *node =
        decode_one(KUBE_NODE, "{\"metadata\":{\"name\":\"n\"},\"status\":{\"volumesInUse\":[\"v\"],"
                              "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}],"
                              "\"nodeInfo\":{\"bootID\":\"b\",\"systemUUID\":\"u\"}}}");
    struct kube_pv *pv =
        decode_one(KUBE_PV, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"csi\":{\"driver\":\"d\","
                            "\"volumeHandle\":\"h\",\"volumeAttributes\":{\"pool\":\"rbd\"},"
                            "\"controllerExpandSecretRef\":{\"name\":\"e\",\"namespace\":\"ns\"},"
                            "\"nodeStageSecretRef\":{\"name\":\"s\",\"namespace\":\"ns\"}}}}");
    struct kube_capacity *capacity =
        decode_one(KUBE_CAPACITY, "{\"metadata\":{\"name\":\"c\"},\"nodeTopology\":"
                                  "{\"matchLabels\":{\"zone\":\"a\"}}}");

    assert_string_equal(node->addresses[0].address, "10.0.0.1");
    assert_string_equal(node->volumes_in_use.items[0], "v");
    assert_string_equal(node->boot_id, "b");
    assert_string_equal(node->system_uuid, "u");
    assert_string_equal(strmap_get(&pv->attributes, "pool"), "rbd");
    assert_string_equal(pv->expand_secret.name, "e");
    assert_string_equal(pv->stage_secret.name, "s");
    assert_string_equal(pv->stage_secret.ns, "ns");
    assert_string_equal(strmap_get(&capacity->match_labels, "zone"), "a");
    kube_object_free(KUBE_NODE, node);
    kube_object_free(KUBE_PV, pv);
    kube_object_free(KUBE_CAPACITY, capacity);
}

TEST(driver_is_attached_unless_it_says_no)
{
    static const struct {
        const char *spec;
        bool is_attached;
    } cases[] = {
        {"{}", true},
        {"{\"attachRequired\":null}", true},
        {"{\"attachRequired\":true}", true},
        {"{\"attachRequired\":false}", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *text =
            xasprintf("{\"metadata\":{\"name\":\"d\"},\"spec\":%s}", cases[i].spec);
        struct kube_csi_driver *driver = decode_one(KUBE_CSI_DRIVER, text);

        assert_int_equal(driver->is_attached, cases[i].is_attached);
        kube_object_free(KUBE_CSI_DRIVER, driver);
    }
}

TEST(owner_is_found_without_decoding)
{
    static const struct {
        enum kube_kind kind;
        const char *text;
        const char *driver;
    } cases[] = {
        {KUBE_PV, "{\"spec\":{\"csi\":{\"driver\":\"d\"}}}", "d"},
        {KUBE_PV, "{\"spec\":{\"csi\":{\"driver\":7}}}", ""},
        {KUBE_PV, "{\"spec\":{\"nfs\":{}}}", ""},
        {KUBE_CLASS, "{\"provisioner\":\"d\"}", "d"},
        {KUBE_ATTACHMENT, "{\"spec\":{\"attacher\":\"d\"}}", "d"},
        {KUBE_NODE, "{\"provisioner\":\"d\"}", ""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        json_auto_t *value = json_loads(cases[i].text, 0, NULL);

        assert_string_equal(kube_object_driver(cases[i].kind, value), cases[i].driver);
    }
}

TEST(times_of_kubernetes_are_read)
{
    static const struct {
        const char *text;
        time_t time;
    } cases[] = {
        {"1970-01-01T00:00:01Z", 1},
        {"2026-11-16T06:05:44Z", 1794809144},
        {"2026-11-16T06:05:44.123456Z", 1794809144},
        {"2026-11-16T06:05:44", 0},
        {"2026-11-16T06:05:44+01:00", 0},
        {"2026-11-16", 0},
        {"soon", 0},
        {"", 0},
        {NULL, 0},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(kube_time_parse(cases[i].text), cases[i].time);
}

TEST(capacity_is_stale_by_its_heartbeat)
{
    struct kube_capacity capacity = {0};
    const time_t then = 1794809144;

    assert_false(kube_capacity_is_stale(&capacity, then + 10 * CAPACITY_STALE_S));
    strmap_set(&capacity.meta.annotations, KUBE_CAPACITY_HEARTBEAT, "2026-11-16T06:05:44Z");
    assert_false(kube_capacity_is_stale(&capacity, then + CAPACITY_STALE_S));
    assert_true(kube_capacity_is_stale(&capacity, then + CAPACITY_STALE_S + 1));
    strmap_done(&capacity.meta.annotations);
}
