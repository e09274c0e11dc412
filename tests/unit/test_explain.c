#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/encoding/yaml.h"
#include "common/scheduling/explain.h"
#include "tests/fakes/cluster_script.h"
#include "tests/must.h"
#include "tests/test.h"

#define DATA "tests/data/explain/"
#define ROOM ((size_t)1024 * 1024)

static void load(const char *name, struct cluster_objects *cluster)
{
    _cleanup_free_ char *path = xasprintf(DATA "%s", name);
    _cleanup_error_ struct error err = {0};
    json_auto_t *json = NULL;
    int result = text_has_suffix(name, ".yaml") ? yaml_load_path(path, ROOM, &json, &err)
                                                : json_load_path(path, ROOM, &json, &err);

    if (result < 0 || cluster_read(cluster, json, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    cluster_settle(cluster);
}

/* The first line must name the cause and what would help, and each node its cause. */
static const struct {
    const char *file;
    const char *headline; /* parts, apart by '|' */
    const char *causes;   /* of the nodes in the order of their names */
    size_t fitting;
} DUMPS[] = {
    {"unlabelled-node.json",
     "label topology.rbd.csi.ceph.com/zone is missing on 3 nodes|not registered|start it",
     "label-missing label-missing node-affinity node-affinity label-missing", 0},
    {"wrong-zone.yaml",
     "volume 'pv-data' of claim 'data' is in zone zone-a|the pod may not run|node "
     "affinity/selector",
     "placement placement node-affinity node-affinity node-affinity", 0},
    {"full-zone.json", "zone-b has room for 40.0 GiB|'data' asks 60.0 GiB|make room",
     "room room room room room", 0},
    {"unbound-immediate-claim.json",
     "claim 'data' of class 'rbd-now' is bound immediately|'rbd.csi.ceph.com' has not made",
     "pod pod pod pod pod", 0},
    {"lost-claim.yaml", "claim 'data' is lost|'pv-gone' no longer exists|restore",
     "pod pod pod pod pod", 0},
    {"wrong-selected-node.json",
     "claim 'data' is tied to node 'n9', which does not exist|remove the annotation",
     "selected-node selected-node selected-node selected-node selected-node", 0},
    {"missing-capacity.json", "no CSIStorageCapacity of class 'rbd-zoned'|--enable-capacity",
     "no-capacity-object no-capacity-object no-capacity-object no-capacity-object "
     "no-capacity-object",
     0},
    {"narrow-allowed-topologies.json",
     "class 'rbd-zoned' allows only|zone-d, zone-e|widen allowedTopologies",
     "allowed-topologies allowed-topologies allowed-topologies allowed-topologies "
     "allowed-topologies",
     0},
    {"prebound-conflict.json", "claim 'data' asks for volume 'pv-1'|belongs to claim 'shop/logs'",
     "pod pod pod pod pod", 0},
    {"takeover-active.json", "takeover of zone-a is active|fits on 2 of 5 nodes|best is n3",
     "placement placement fits fits node-affinity", 2},
};

static void assert_parts(const char *text, const char *parts)
{
    while (*parts) {
        size_t length = strcspn(parts, "|");
        _cleanup_free_ char *part = xstrndup(parts, length);

        if (!strstr(text, part))
            fail_msg("'%s' is not in '%s'", part, text);
        parts += length;
        parts += *parts == '|';
    }
}

TEST(first_line_names_the_cause)
{
    const struct binding_options options = newest_binding_options();

    for (size_t i = 0; i < ARRAY_LENGTH(DUMPS); i++) {
        _cleanup_cluster_ struct cluster_objects cluster = {0};
        _cleanup_explanation_ struct explanation explanation = {0};
        _cleanup_text_ struct text causes = TEXT_INIT(4096);
        _cleanup_error_ struct error err = {0};

        print_message("  %s\n", DUMPS[i].file);
        load(DUMPS[i].file, &cluster);
        assert_int_equal(explain_pod(&cluster, &options, "shop", "web-0", &explanation, &err), 0);
        assert_parts(explanation.headline, DUMPS[i].headline);
        assert_null(strchr(explanation.headline, '\n'));
        for (size_t j = 0; j < explanation.count; j++)
            text_addf(&causes, "%s%s", j ? " " : "",
                      explain_cause_name(explanation.nodes[j].cause));
        assert_string_equal(text_chars(&causes), DUMPS[i].causes);
        assert_int_equal(explanation.fitting, DUMPS[i].fitting);
    }
}

/* One-off clusters: the headline of pod 'p' has these parts. */
static const struct {
    const char *script;
    const char *headline;
} SCRIPTS[] = {
    {"node n1\nnode n2\nclass fast\npvc c class=fast modes=RWOP\npod a claims=c on=n2\npod p "
     "claims=c",
     "claim 'c' is for one pod (ReadWriteOncePod), and pod 'a' on node 'n2' has it|delete pod 'a'"},
    {"node n1\npod a in-tree=aws-ebs:d on=n1\npod p in-tree=aws-ebs:d",
     "pod 'a' of namespace 'default' has a disk that the pod names"},
    {"node n1 zone=a\npod p claims=dta\npvc data",
     "claim 'dta' does not exist|did you mean 'data'?"},
    {"node n1 zone=a\nclass fast\npvc c class=fast\npod p claims=c", "fits on 1 of 1 nodes"},
    {"node n1 zone=a\npvc c class=gone\npod p claims=c", "class 'gone', which does not exist"},
    {"node n1 zone=a\npvc c\npod p claims=c", "has no class and no volume"},
    {"node n1 zone=a\npvc c volume=v\npod p claims=c", "asks for volume 'v', which does not exist"},
    {"node n1 zone=a\npv v claim=default/c/old\npvc c volume=v\npod p claims=c", "another uid"},
    {"node n1 zone=a\npv v size=1Gi\npvc c volume=v size=2Gi\npod p claims=c", "is smaller"},
    {"node n1 zone=a\nclass now mode=immediate provisioner=kubernetes.io/no-provisioner\n"
     "pvc c class=now\npod p claims=c",
     "is bound immediately|no volume fits"},
    {"node n1 zone=a\npvc c deleted\npod p claims=c", "is being deleted"},
    {"node n1 zone=a\npvc c volume=v bound\npod p claims=c",
     "claim 'c' is bound to volume 'v', which does not exist|restore"},
    {"node n1 zone=a\npvc c volume=v bound\npod p claims=gone,c", "claim 'gone' does not exist"},
    {"node n1 zone=a\ncsinode n1 csi.test:9\nclass dyn\npvc q-tmp class=dyn\nclass dyn\n"
     "pod q ephemeral=tmp on=n1\npvc c class=dyn\npod p claims=c",
     "cannot be counted|was not created for pod default/q|mend its claim"},
    {"node n1 zone=a\nclass fast provisioner=kubernetes.io/no-provisioner\npvc c class=fast\n"
     "pod p claims=c",
     "no free volume and no provisioner|create a PersistentVolume"},
    {"node n1 zone=a\nclass fast provisioner=kubernetes.io/no-provisioner\npv v class=fast "
     "size=1Gi affinity=zone:a\npvc c class=fast size=5Gi\npod p claims=c",
     "asks 5.0 GiB|largest free volume here, 'v', has 1.0 GiB"},
    {"node n1 zone=a\nclass fast provisioner=kubernetes.io/no-provisioner\npv v class=fast "
     "size=9Gi affinity=zone:b\npvc c class=fast size=5Gi\npod p claims=c",
     "free volume 'v' (9.0 GiB) is only on: zone = b"},
    {"node n1 zone=a\nclass fast provisioner=kubernetes.io/no-provisioner\npv v class=fast "
     "size=9Gi affinity=zone:b claim=default/c\npvc c class=fast size=5Gi\npod p claims=c",
     "volume 'v' is meant for claim 'c'|zone = b"},
    {"node n1 zone=a\ncsinode n1 csi.test:1\nclass dyn\npvc c class=dyn\npvc d class=dyn\n"
     "pod q claims=d on=n1\npod p claims=c",
     "1 of at most 1 volumes of csi.test"},
    {"node n1 zone=a\nclass dyn\ndriver csi.test required\npvc c class=dyn\npod p claims=c",
     "node plugin of csi.test is not registered"},
    {"node n1 topology.kubernetes.io/zone=b\npv v labels=topology.kubernetes.io/zone:a\n"
     "pvc c volume=v bound\npod p claims=c",
     "has the label topology.kubernetes.io/zone=a"},
    {"node n1 zone=a\nclass fast\npvc c class=fast selector=x~Near:y\npod p claims=c",
     "error creating internal label selector"},
    {"node n1 zone=a\nnode n2 zone=b\nclass dyn allowed=zone:b\npvc c class=dyn selected=n1\n"
     "pod p claims=c",
     "claim 'c' is tied to node 'n1', where: class 'dyn' allows only"},
    {"node n1 zone=a taint=maint:yes:NoSchedule\npv v affinity=zone:a claim=default/c\n"
     "pvc c volume=v bound\npod p claims=c",
     "is in zone = a, where the pod may not run|untolerated taint {maint: yes}"},
    {"node n1 zone=a\nclass fast\npvc c class=fast\npod p claims=c on=n1",
     "nodeName 'n1'|claim 'c' waits for ever|nodeSelector kubernetes.io/hostname: n1"},
    {"node n1 zone=a\nclass fast\npvc c class=fast selected=n1\npod p claims=c on=n1",
     "runs on n1"},
    {"node n1 zone=a\npv v claim=default/c\npvc c volume=v bound\npod p claims=c on=n1",
     "runs on n1; its volumes fit on 1 of 1 nodes"},
    {"pvc c\npod p", "there are no nodes"},
};

/* A PreFilter of VolumeZone: no node is asked. */
TEST(a_volume_that_is_gone_rejects_the_pod_as_a_whole)
{
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_explanation_ struct explanation explanation = {0};
    const struct binding_options options = newest_binding_options();

    cluster_script(&cluster, "node n1 zone=a\nnode n2\npvc c volume=v bound\npod p claims=c");
    cluster_settle(&cluster);
    must(explain_pod(&cluster, &options, "default", "p", &explanation, &err));
    assert_string_equal(explanation.summary,
                        "0/2 nodes are available: persistentvolume \"v\" not found.");
    for (size_t i = 0; i < explanation.count; i++)
        assert_int_equal(explanation.nodes[i].cause, EXPLAIN_POD);
}

TEST(one_cause_at_a_time)
{
    const struct binding_options options = newest_binding_options();

    for (size_t i = 0; i < ARRAY_LENGTH(SCRIPTS); i++) {
        _cleanup_cluster_ struct cluster_objects cluster = {0};
        _cleanup_explanation_ struct explanation explanation = {0};
        _cleanup_error_ struct error err = {0};

        cluster_script(&cluster, SCRIPTS[i].script);
        cluster_settle(&cluster);
        assert_int_equal(explain_pod(&cluster, &options, "default", "p", &explanation, &err), 0);
        assert_parts(explanation.headline, SCRIPTS[i].headline);
    }
}

TEST(claim_of_a_pod_that_bypasses_the_scheduler_waits_for_ever)
{
    const struct binding_options options = newest_binding_options();
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_explanation_ struct explanation explanation = {0};
    _cleanup_error_ struct error err = {0};

    cluster_script(&cluster, "node n1 zone=a\nnode n2 zone=b\nclass fast\npvc c class=fast\n"
                             "pod p claims=c on=n1");
    cluster_settle(&cluster);
    assert_int_equal(explain_claim(&cluster, &options, "default", "c", &explanation, &err), 0);
    assert_non_null(strstr(explanation.headline, "claim 'c' waits for ever"));
    assert_int_equal(explanation.fitting, 0);
    assert_int_equal(explanation.count, 2);
    assert_int_equal(explanation.nodes[0].cause, EXPLAIN_POD);
    assert_non_null(strstr(explanation.summary, "does not look at"));
}

TEST(unknown_pod_is_told_with_a_near_name)
{
    const struct binding_options options = newest_binding_options();
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    struct explanation explanation = {0};
    _cleanup_error_ struct error err = {0};

    cluster_script(&cluster, "node n1\npod web-0 ns=shop\npod other");
    cluster_settle(&cluster);
    assert_int_equal(explain_pod(&cluster, &options, "shop", "web-1", &explanation, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean 'web-0'?"));
    error_clear(&err);
    assert_int_equal(explain_pod(&cluster, &options, "default", "web-0", &explanation, &err), -1);
    assert_non_null(strstr(err.message, "namespace 'shop'"));
}

TEST(claim_is_explained_through_its_pod_or_alone)
{
    const struct binding_options options = newest_binding_options();
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_explanation_ struct explanation used = {0};
    _cleanup_explanation_ struct explanation alone = {0};
    _cleanup_error_ struct error err = {0};

    cluster_script(&cluster, "node n1 zone=a\nnode n2 zone=b\nclass dyn allowed=zone:a\n"
                             "pvc c class=dyn\npvc d class=dyn\npod p claims=c selector=zone:b");
    cluster_settle(&cluster);
    assert_int_equal(explain_claim(&cluster, &options, "default", "c", &used, &err), 0);
    assert_int_equal(used.fitting, 0);
    assert_int_equal(explain_claim(&cluster, &options, "default", "d", &alone, &err), 0);
    assert_int_equal(alone.fitting, 1);
}

/* The dump has one object per zone; the first is given a heartbeat. */
TEST(figures_that_nobody_refreshes_are_named)
{
    struct binding_options options = newest_binding_options();
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_explanation_ struct explanation fresh = {0};
    _cleanup_explanation_ struct explanation stale = {0};
    _cleanup_error_ struct error err = {0};

    load("full-zone.json", &cluster);
    struct kube_capacity *capacity = cluster.lists[KUBE_CAPACITY].all.items[0];
    strmap_set(&capacity->meta.annotations, KUBE_CAPACITY_HEARTBEAT, "2026-11-16T06:05:44Z");
    options.now = kube_time_parse("2026-11-16T06:20:44Z");
    assert_int_equal(explain_pod(&cluster, &options, "shop", "web-0", &fresh, &err), 0);
    options.now++;
    assert_int_equal(explain_pod(&cluster, &options, "shop", "web-0", &stale, &err), 0);
    assert_int_equal(stale.notes.count, fresh.notes.count + 1);
    assert_parts(
        stale.notes.items[stale.notes.count - 1],
        "CSIStorageCapacity of class|not been refreshed for 15 minutes|--publish-capacity");
}

TEST(what_is_not_looked_at_is_named)
{
    static const char POD[] =
        "json {\"kind\": \"Pod\", \"metadata\": {\"name\": \"p\"}, \"spec\": {"
        "\"containers\": [{\"resources\": {\"requests\": {\"cpu\": \"1\"}}, \"ports\": "
        "[{\"hostPort\": 80}]}], \"affinity\": {\"podAntiAffinity\": "
        "{\"requiredDuringSchedulingIgnoredDuringExecution\": [{\"topologyKey\": \"zone\"}]}, "
        "\"podAffinity\": {\"requiredDuringSchedulingIgnoredDuringExecution\": []}}, "
        "\"topologySpreadConstraints\": [{\"whenUnsatisfiable\": \"DoNotSchedule\"}], "
        "\"schedulingGates\": [{\"name\": \"g\"}], \"resourceClaims\": [{\"name\": \"r\"}]}}\n";
    const struct binding_options options = newest_binding_options();
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_explanation_ struct explanation asking = {0};
    _cleanup_explanation_ struct explanation modest = {0};

    cluster_script(&cluster, "node n1\npod q\n");
    cluster_script(&cluster, POD);
    cluster_settle(&cluster);
    must(explain_pod(&cluster, &options, "default", "p", &asking, &err));
    assert_int_equal(asking.notes.count, 1);
    assert_string_equal(asking.notes.items[0],
                        "not looked at, though the pod asks for it: requests of CPU, memory and "
                        "other resources, ports of the host, anti-affinity to other pods, topology "
                        "spread constraints, resource claims, scheduling gates");
    must(explain_pod(&cluster, &options, "default", "q", &modest, &err));
    assert_int_equal(modest.notes.count, 0);
}
