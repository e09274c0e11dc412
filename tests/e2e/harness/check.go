package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// What 'cephzone check' has to find in a cluster that somebody wants to switch.

// One row of its report.
type checkRow struct {
	Result string `json:"result"`
	Check  string `json:"check"`
	Object string `json:"object"`
	What   string `json:"what"`
	Advice string `json:"advice"`
}

// A fault: the objects that bring it about, and the row that tells it. CLUSTER and NAMESPACE stand
// for the identity of the Ceph cluster and the scenario's namespace, UNKNOWN for a key of a type
// that no library knows, KEY for one that they do.
type fault struct {
	objects string
	row     checkRow // Object and What are parts of those of the report
}

// A class of our driver with further parameters, one in each line.
func faultyClass(name, provisioner string, parameters ...string) string {
	return fmt.Sprintf("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: %s}\nprovisioner: %s\n"+
		"parameters:\n  clusterID: CLUSTER\n  pool: common\n  %s\n---\n", name, provisioner, strings.Join(parameters, "\n  "))
}

// The Secret @name with such entries, and a class that names it.
func faultySecret(name, entries string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: NAMESPACE}\nstringData: {%s}\n---\n",
		name, entries) + faultyClass(name, driverName, "csi.storage.k8s.io/provisioner-secret-name: "+name,
		"csi.storage.k8s.io/provisioner-secret-namespace: NAMESPACE")
}

const otherDriver = "fault.rbd.csi.ceph.com" // Ceph-CSI, as far as its workload tells

var faults = []fault{
	{faultyClass("fault-typo", driverName, "imageFeaturs: layering"),
		checkRow{"warn", "class", "'fault-typo'", "'imageFeaturs' is not known", "imageFeatures"}},
	{faultyClass("fault-value", driverName, "imageFeatures: telepathy"),
		checkRow{"fail", "class", "'fault-value'", "every claim of the class would be refused", ""}},
	{"apiVersion: storage.k8s.io/v1\nkind: VolumeAttributesClass\nmetadata: {name: fault-speed}\ndriverName: " + driverName +
		"\nparameters: {faster: please}\n",
		checkRow{"fail", "class", "'fault-speed'", "'faster' is not known", ""}},
	{faultyClass("fault-absent", driverName, "csi.storage.k8s.io/provisioner-secret-name: fault-absent",
		"csi.storage.k8s.io/provisioner-secret-namespace: NAMESPACE"),
		checkRow{"fail", "secret", "/fault-absent'", "it is not there", ""}},
	{faultySecret("fault-half", "userID: csi-rbd-provisioner"),
		checkRow{"fail", "secret", "/fault-half'", "userKey is missing", ""}},
	{faultySecret("fault-nobody", "userID: fault-nobody, userKey: KEY"),
		checkRow{"fail", "caps", "client.fault-nobody", "Ceph has no such user", ""}},
	{faultySecret("fault-weak", "userID: fault-weak, userKey: KEY"),
		checkRow{"fail", "caps", "client.fault-weak", "osd caps '' do not suffice", "ceph auth caps"}},
	{faultySecret("fault-type", "userID: csi-rbd-provisioner, userKey: UNKNOWN"),
		checkRow{"fail", "key", "/fault-type'", "cannot be used", ""}},
	{"apiVersion: v1\nkind: Node\nmetadata: {name: fault-node}\nspec: {unschedulable: true}\n---\n" +
		"apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: fault-node}\n" +
		"spec: {drivers: [{name: " + driverName + ", nodeID: fault-node, topologyKeys: []}]}\n",
		checkRow{"fail", "nodes", "fault-node", "lacks the label 'topology.kubernetes.io/zone'", ""}},
	{"apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata:\n  name: fault-attachment\n" +
		"  finalizers: [external-attacher/gone-rbd-csi-ceph-com]\n" +
		"spec: {attacher: gone.rbd.csi.ceph.com, nodeName: a1, source: {persistentVolumeName: fault-pv}}\n",
		checkRow{"fail", "finalizers", "gone.rbd.csi.ceph.com", "'fault-attachment'", "csi-attacher"}},
	{"apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: detached.rbd.csi.ceph.com}\n" +
		"spec: {attachRequired: false, podInfoOnMount: true, fsGroupPolicy: File, seLinuxMount: true}\n",
		checkRow{"warn", "csidriver", "detached.rbd.csi.ceph.com", "attachRequired is false", ""}},
	{"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: fault-driver, namespace: NAMESPACE}\nspec:\n  replicas: 0\n" +
		"  selector: {matchLabels: {app: fault}}\n  template:\n    metadata: {labels: {app: fault}}\n    spec:\n      containers:\n" +
		"      - name: csi-rbdplugin\n        image: quay.io/cephcsi/cephcsi:v3.14.0\n" +
		"        args: [--type=rbd, --controllerserver=true, --nodeid=n, --endpoint=unix:///csi/csi.sock, --drivername=" +
		otherDriver + ", --rbdhardmaxclonedepth=many]\n" +
		"      - name: csi-provisioner\n        image: registry.k8s.io/sig-storage/csi-provisioner:v5.0.1\n" +
		"        args: [--csi-address=unix:///csi/csi.sock, --feature-gates=Topology=false]\n",
		checkRow{"fail", "flags", otherDriver, "rbdhardmaxclonedepth", ""}},
	{faultyClass("fault-places", otherDriver,
		`topologyConstrainedPools: '[{"poolName":"zone-a","domainSegments":[{"domainLabel":"zone","value":"zone-a"}]}]'`),
		checkRow{"fail", "topology", "'fault-places'", "Topology=false", ""}},
}

func (r *checkRow) tells(f *fault) bool {
	return r.Result == f.row.Result && r.Check == f.row.Check && strings.Contains(r.Object, f.row.Object) &&
		strings.Contains(r.What, f.row.What) && strings.Contains(r.Advice, f.row.Advice)
}

// Runs it live, with the caps of Ceph's users, and gives its rows.
func (t *test) check(failing bool) []checkRow {
	cmd := exec.Command("timeout", "60", t.build+"/cephzone", "check", "--kubeconfig="+t.kubeconfig,
		"--config="+t.file("config.json"), "--keyring="+t.file("admin.keyring"), "-o", "json")
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 || failing && code != 1 {
		t.fail("cephzone check ends with %d, %v: %s", code, err, out)
	}
	report := struct {
		Findings []checkRow `json:"findings"`
	}{}
	t.must(json.Unmarshal(out, &report), "read what check printed: %s", out)
	return report.Findings
}

func (t *test) mustTell(rows []checkRow, present bool) {
	for i := range faults {
		told := false
		for k := range rows {
			told = told || rows[k].tells(&faults[i])
		}
		if told != present {
			t.fail("told: %v, planted: %v: %+v\namong %+v", told, present, faults[i].row, rows)
		}
	}
}

// Keys as Ceph writes them: type, time, length, bytes.
func cephKey(kind byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte{kind, 0, 1, 2, 3, 4, 0, 0, 0, 0, 16, 0},
		[]byte("0123456789abcdef")...))
}

func checkFindsFaults(t *test) {
	keyring, err := t.ceph.run("auth", "get", "client.admin")
	t.must(err, "get the keyring of client.admin")
	t.must(os.WriteFile(t.file("admin.keyring"), []byte(keyring), 0o600), "write the keyring")
	t.mustTell(t.check(false), false)

	_, err = t.ceph.run("auth", "get-or-create", "client.fault-weak", "mon", "allow r")
	t.must(err, "create a user of little rights")
	text := strings.Builder{}
	for i := range faults {
		text.WriteString(faults[i].objects + "---\n")
	}
	objects := strings.NewReplacer("CLUSTER", clusterID, "NAMESPACE", t.namespace, "UNKNOWN", cephKey(9),
		"KEY", cephKey(1)).Replace(text.String())
	t.must(os.WriteFile(t.file("faults.yaml"), []byte(objects), 0o600), "write the faults")
	defer func() {
		_, _ = t.kubectl("patch", "volumeattachment", "fault-attachment", "--type=merge", "-p",
			`{"metadata":{"finalizers":null}}`)
		_, _ = t.kubectl("delete", "--ignore-not-found", "-f", t.file("faults.yaml"))
		_, _ = t.ceph.run("auth", "rm", "client.fault-weak")
	}()
	_, err = t.kubectl("apply", "-f", t.file("faults.yaml"))
	t.must(err, "plant the faults")
	t.mustTell(t.check(true), true)
}
