#include "tests/fakes/random_cluster.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/fakes/cluster_script.h"

/* splitmix64 */
unsigned chance_of(struct chance *chance, unsigned below)
{
    uint64_t z = (chance->state += 0x9e3779b97f4a7c15ULL);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (unsigned)((z ^ (z >> 31)) % below);
}

#define PICK(chance, list) ((list)[chance_of(chance, ARRAY_LENGTH(list))])

static const char *const CLASSES[] = {"fast", "slow", "dyn", "cap", "narrow", "now", "gone"};
static const char *const SIZES[] = {"1Gi", "2Gi", "2048Mi", "3Gi", "5Gi", "9Gi"};
static const char *const AFFINITIES[] = {"",
                                         "",
                                         "zone:a",
                                         "zone:b",
                                         "zone:a,b",
                                         "zone:c+rack:r1",
                                         "zone:a|rack:r2",
                                         "host:n0",
                                         "host:n1",
                                         "host:n2+zone:a",
                                         "zone!a",
                                         "rack?",
                                         "!rack",
                                         "|",
                                         "{}",
                                         "{}|zone:b",
                                         "zone~Near:a",
                                         "@name:n0",
                                         "zone:a+gen>3",
                                         "gen<3",
                                         "zone~Near:a|zone:c",
                                         "null",
                                         "zone:a,b,c|host:n3"};
static const char *const SELECTORS[] = {
    "", "", "", "", "tier:gold", "tier?", "!tier", "*", "tier:gold+disk:ssd", "tier~Near:x"};
static const char *const MODES[] = {"RWO", "RWO", "RWO,ROX", "RWX,RWO", "ROX"};
static const char *const TOPOLOGIES[] = {
    "zone:a", "zone:b", "zone:c", "*", "rack:r1", "zone!a", "zone:a+rack:r1", "", "zone~Near:a"};

static void add_option(struct text *line, const char *key, const char *value)
{
    if (value[0])
        text_addf(line, " %s=%s", key, value);
}

static void put(struct cluster_objects *cluster, struct text *line)
{
    cluster_script(cluster, text_chars(line));
    text_done(line);
}

static void put_node(struct chance *chance, struct cluster_objects *cluster, unsigned number)
{
    struct text line = TEXT_INIT(1024);

    text_addf(&line, "node n%u host=n%u", number, number);
    if (chance_of(chance, 8))
        text_addf(&line, " zone=%c", 'a' + chance_of(chance, 3));
    if (chance_of(chance, 2))
        text_addf(&line, " rack=r%u", chance_of(chance, 3));
    if (chance_of(chance, 2))
        text_addf(&line, " gen=%u", chance_of(chance, 6));
    if (chance_of(chance, 2))
        text_addf(&line, " topology.kubernetes.io/zone=%c", 'a' + chance_of(chance, 3));
    if (chance_of(chance, 2))
        text_addf(&line, " topology.gke.io/zone=%c", 'a' + chance_of(chance, 3));
    put(cluster, &line);
}

static void put_csi_node(struct chance *chance, struct cluster_objects *cluster, unsigned number)
{
    struct text line = TEXT_INIT(1024);
    static const char *const MIGRATED[] = {"", "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd",
                                           "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"};

    text_addf(&line, "csinode n%u csi.test", number);
    add_option(&line, "migrated", PICK(chance, MIGRATED));
    put(cluster, &line);
}

/* Of a plugin that was once part of Kubernetes. */
static void add_in_tree(struct chance *chance, struct text *line)
{
    static const char *const IN_TREE[] = {
        "affinity=topology.kubernetes.io/zone:a",
        "affinity=topology.kubernetes.io/zone:a,b|zone:c",
        "affinity=failure-domain.beta.kubernetes.io/zone:b",
        "affinity=zone:a labels=topology.kubernetes.io/zone:b",
        "labels=failure-domain.beta.kubernetes.io/zone:a__c",
        "affinity=topology.kubernetes.io/zone?",
    };

    text_addf(line, " in-tree=%s:disk %s", chance_of(chance, 4) ? "gce-pd" : "aws-ebs",
              PICK(chance, IN_TREE));
}

static void put_pv(struct chance *chance, struct cluster_objects *cluster, unsigned number)
{
    struct text line = TEXT_INIT(1024);
    static const char *const PHASES[] = {"Available", "Available", "Available",
                                         "Available", "Bound",     "Released"};
    static const char *const LABELS[] = {"", "", "tier:gold", "tier:gold,disk:ssd", "tier:iron"};

    text_addf(&line, "pv v%u class=%s size=%s modes=%s phase=%s version=%u", number,
              PICK(chance, CLASSES), PICK(chance, SIZES), PICK(chance, MODES), PICK(chance, PHASES),
              1 + chance_of(chance, 3));
    if (chance_of(chance, 8) == 0) {
        add_in_tree(chance, &line);
    } else {
        add_option(&line, "affinity", PICK(chance, AFFINITIES));
        add_option(&line, "labels", PICK(chance, LABELS));
    }
    if (chance_of(chance, 8) == 0)
        text_add(&line, " mode=Block");
    if (chance_of(chance, 10) == 0)
        text_add(&line, " attributes=gold");
    if (chance_of(chance, 12) == 0)
        text_add(&line, " deleted");
    if (chance_of(chance, 12) == 0)
        text_addf(&line, " legacy=%s", PICK(chance, CLASSES));
    if (chance_of(chance, 4) == 0)
        text_addf(&line, " claim=default/c%u%s", chance_of(chance, 8),
                  chance_of(chance, 3) ? "" : "/some-uid");
    put(cluster, &line);
}

static void put_pvc(struct chance *chance, struct cluster_objects *cluster, unsigned number)
{
    struct text line = TEXT_INIT(1024);
    bool is_bound = chance_of(chance, 4) == 0;

    text_addf(&line, "pvc c%u class=%s modes=%s version=%u", number,
              CLASSES[chance_of(chance, 100) < 90 ? chance_of(chance, 5)
                                                  : chance_of(chance, ARRAY_LENGTH(CLASSES))],
              PICK(chance, MODES), 1 + chance_of(chance, 3));
    add_option(&line, "size", chance_of(chance, 12) ? PICK(chance, SIZES) : "none");
    if (is_bound)
        text_addf(&line, " volume=v%u bound", chance_of(chance, 30));
    else if (chance_of(chance, 30) == 0)
        text_add(&line, " volume=v1");
    if (chance_of(chance, 8) == 0)
        text_addf(&line, " selected=n%u", chance_of(chance, 6));
    if (chance_of(chance, 8) == 0)
        text_add(&line, " mode=Block");
    if (chance_of(chance, 12) == 0)
        text_add(&line, " attributes=gold");
    if (chance_of(chance, 60) == 0)
        text_add(&line, " deleted");
    if (chance_of(chance, 60) == 0)
        text_add(&line, " phase=Lost");
    if (chance_of(chance, 3) == 0)
        add_option(&line, "selector", PICK(chance, SELECTORS));
    put(cluster, &line);
}

static void put_capacity(struct chance *chance, struct cluster_objects *cluster, unsigned number)
{
    struct text line = TEXT_INIT(1024);

    text_addf(&line, "capacity cap%u ns=%s class=%s", number, chance_of(chance, 2) ? "a" : "b",
              PICK(chance, CLASSES));
    if (chance_of(chance, 8))
        add_option(&line, "size", PICK(chance, SIZES));
    if (chance_of(chance, 3) == 0)
        add_option(&line, "max", PICK(chance, SIZES));
    add_option(&line, "topology", PICK(chance, TOPOLOGIES));
    put(cluster, &line);
}

static void put_pod(struct chance *chance, struct cluster_objects *cluster, unsigned number)
{
    struct text line = TEXT_INIT(1024);
    unsigned count = 1 + chance_of(chance, 3);

    text_addf(&line, "pod p%u claims=", number);
    for (unsigned i = 0; i < count; i++)
        text_addf(&line, "%sc%u", i ? "," : "", chance_of(chance, 8));
    put(cluster, &line);
}

void random_cluster(struct chance *chance, struct cluster_objects *cluster)
{
    unsigned nodes = 1 + chance_of(chance, 6);
    unsigned pvs = chance_of(chance, 30);
    unsigned capacities = chance_of(chance, 8);

    cluster_script(cluster, "class fast provisioner=kubernetes.io/no-provisioner\n"
                            "class slow provisioner=kubernetes.io/no-provisioner\n"
                            "class dyn provisioner=csi.test\n"
                            "class cap provisioner=csi.cap\n"
                            "class narrow provisioner=csi.cap allowed=zone:a,b|rack:r2+zone:c\n"
                            "class now mode=immediate\ndriver csi.cap capacity\ndriver csi.test\n");
    for (unsigned i = 0; i < nodes; i++) {
        put_node(chance, cluster, i);
        if (chance_of(chance, 3))
            put_csi_node(chance, cluster, i);
    }
    for (unsigned i = 0; i < pvs; i++)
        put_pv(chance, cluster, i);
    for (unsigned i = 0; i < 8; i++)
        if (chance_of(chance, 30))
            put_pvc(chance, cluster, i);
    for (unsigned i = 0; i < capacities; i++)
        put_capacity(chance, cluster, i);
    for (unsigned i = 0; i < 3; i++)
        put_pod(chance, cluster, i);
    cluster_settle(cluster);
}

void random_change(struct chance *chance, struct cluster_objects *cluster)
{
    unsigned number = chance_of(chance, 30);
    _cleanup_free_ char *pv = xasprintf("v%u", number);
    _cleanup_free_ char *capacity = xasprintf("cap%u", number % 8);

    switch (chance_of(chance, 6)) {
    case 0:
    case 1:
        put_pv(chance, cluster, number);
        break;
    case 2:
        put_pvc(chance, cluster, number % 8);
        break;
    case 3:
        put_node(chance, cluster, number % 6);
        put_csi_node(chance, cluster, number % 6);
        break;
    case 4:
        put_capacity(chance, cluster, number % 8);
        break;
    default:
        cluster_remove(cluster, KUBE_PV, NULL, pv);
        cluster_remove(cluster, KUBE_CAPACITY, "a", capacity);
        break;
    }
}
