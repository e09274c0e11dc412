package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

const (
	driverName = "rbd.csi.ceph.com"
	namespace  = "cephzone"                             // of the driver
	clusterID  = "b9127830-b0cc-4e34-aa47-9d1a2e9949a8" // that of deploy/examples
)

// Everything that runs. The environment is made by tests/e2e/run.
type cluster struct {
	dir     string // all files of this run
	logs    string
	tools   string // the control plane's programs
	build   string // ours
	address string // of Ceph and of the API server
	server  string

	pki        *authority
	kubeconfig string
	client     kubernetes.Interface
	dynamic    dynamic.Interface

	ceph        ceph
	nodes       map[string]*kubelet
	plugins     map[string]*process
	controllers map[string]*process
	accounts    map[string]string // kubeconfigs of service accounts
}

// The nodes, two in each zone, with their addresses. tests/e2e/run makes their networks.
var places = []struct{ node, zone, address string }{
	{"a1", "zone-a", "10.77.1.1"}, {"a2", "zone-a", "10.77.1.2"},
	{"b1", "zone-b", "10.77.2.1"}, {"b2", "zone-b", "10.77.2.2"},
	{"c1", "zone-c", "10.77.3.1"}, {"c2", "zone-c", "10.77.3.2"},
}

func newCluster() (*cluster, error) {
	c := &cluster{dir: os.Getenv("E2E_DIR"), tools: os.Getenv("E2E_TOOLS"), build: os.Getenv("BUILD"),
		address: os.Getenv("E2E_ADDRESS"), nodes: map[string]*kubelet{}, plugins: map[string]*process{},
		controllers: map[string]*process{}, accounts: map[string]string{}}
	c.logs = filepath.Join(c.dir, "log")
	c.server = "https://" + c.address + ":" + serverPort
	c.ceph = ceph{conf: os.Getenv("CEPH_CONF"), monitors: os.Getenv("MONITORS")}
	return c, os.MkdirAll(c.logs, 0o700)
}

// The driver is installed as docs/install.md says; its pods run nothing, see runController.
func (c *cluster) install() error {
	if err := c.installDefinitions(); err != nil {
		return err
	}
	if err := c.writeCephFiles(); err != nil {
		return err
	}
	if _, err := c.kubectl("apply", "-k", "deploy/kustomize/overlays/three-zones"); err != nil {
		return err
	}
	for user := range cephUsers {
		if err := c.createSecret(user); err != nil {
			return err
		}
	}
	for _, account := range []string{"cephzone-rbd-controller", "cephzone-rbd-node"} {
		path, err := c.accountKubeconfig(namespace, account)
		if err != nil {
			return err
		}
		c.accounts[account] = path
	}
	return nil
}

// Kinds that others define: of snapshots with the module that go.mod pins, of monitoring our own.
func (c *cluster) installDefinitions() error {
	snapshots, err := filepath.Glob(filepath.Join(os.Getenv("E2E_SNAPSHOT_CRDS"), "snapshot.storage.k8s.io_*.yaml"))
	if err != nil || len(snapshots) == 0 {
		return fmt.Errorf("no definitions of snapshots in '%s'", os.Getenv("E2E_SNAPSHOT_CRDS"))
	}
	arguments := []string{"apply", "-f", "tests/e2e/definitions"}
	for _, path := range snapshots {
		arguments = append(arguments, "-f", path)
	}
	if _, err := c.kubectl(arguments...); err != nil {
		return err
	}
	_, err = c.kubectl("wait", "--for=condition=Established", "--timeout=50s", "crd", "--all")
	return err
}

// The secret for a user, under the name that the classes of deploy/ have for it.
func (c *cluster) createSecret(user string) error {
	_, err := c.client.CoreV1().Secrets(namespace).Create(context.Background(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cephzone" + strings.TrimPrefix(user, "csi")},
		StringData: map[string]string{"userID": user, "userKey": c.ceph.keys[user]}}, metav1.CreateOptions{})
	return err
}

// The driver's config.json and keyring, which pods would get from ConfigMap and Secret.
func (c *cluster) writeCephFiles() error {
	if err := c.ceph.createUsers(); err != nil {
		return err
	}
	config := fmt.Sprintf(`[{"clusterID":%q,"monitors":[%q]}]`, clusterID, c.ceph.monitors)
	if err := os.WriteFile(c.file("config.json"), []byte(config), 0o600); err != nil {
		return err
	}
	user := "csi-rbd-provisioner"
	keyring := fmt.Sprintf("[client.%s]\n\tkey = %s\n", user, c.ceph.keys[user])
	return os.WriteFile(c.file("keyring"), []byte(keyring), 0o600)
}

func (c *cluster) file(name string) string {
	return filepath.Join(c.dir, name)
}

// --- the driver's processes ---

// The arguments of a container, as its manifest has them. In Go's flags and ours the last of
// several counts, so that what differs outside of a pod is put behind.
func containerArguments(pod *corev1.PodSpec, name string) []string {
	for _, container := range pod.Containers {
		if container.Name == name {
			return container.Args
		}
	}
	return nil
}

// Replaces $(NAME) as kubelet does.
func expand(arguments []string, values map[string]string) []string {
	var out []string
	for _, argument := range arguments {
		for name, value := range values {
			argument = strings.ReplaceAll(argument, "$("+name+")", value)
		}
		out = append(out, argument)
	}
	return out
}

// The pod template of the controller for @kind, "rbd" or "cephfs".
func (c *cluster) controllerTemplate(kind string) (*corev1.PodSpec, error) {
	deployment, err := c.client.AppsV1().Deployments(namespace).Get(context.Background(),
		"cephzone-"+kind+"-controller", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return &deployment.Spec.Template.Spec, nil
}

// The name of a pod of the controller for @kind, for the walk from pod to owner.
func (c *cluster) controllerPod(kind string) (string, error) {
	name := ""
	err := until(time.Minute, func() error {
		pods, err := c.client.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{
			LabelSelector: "app.kubernetes.io/component=controller,cephzone/driver=" + kind})
		if err == nil && len(pods.Items) == 0 {
			err = fmt.Errorf("the controller has no pod")
		}
		if err == nil {
			name = pods.Items[0].Name
		}
		return err
	})
	return name, err
}

// A controller's container, as process @name on node @node.
func (c *cluster) startController(kind, name, node string, extra ...string) error {
	template, err := c.controllerTemplate(kind)
	if err != nil {
		return err
	}
	arguments := expand(containerArguments(template, "csi-"+kind+"plugin"), map[string]string{"NODE_ID": node})
	arguments = append(arguments, "--endpoint="+c.endpoint(name), "--configpath="+c.file("config.json"),
		"--keyring="+c.file("keyring"), "--takeover-file="+c.file("takeover.json"),
		"--kubeconfig="+c.accounts["cephzone-"+kind+"-controller"], "--v=3")
	process, err := c.start(name, launch{env: []string{"POD_NAMESPACE=" + namespace}, hostname: name},
		append(append([]string{filepath.Join(c.build, "cephcsi")}, arguments...), extra...)...)
	if err != nil {
		return err
	}
	c.controllers[name] = process
	return nil
}

func (c *cluster) runController(name, node string, extra ...string) error {
	return c.startController("rbd", name, node, append([]string{"--capacity-interval=1s"}, extra...)...)
}

func (c *cluster) endpoint(name string) string {
	return "unix://" + c.file(name+".sock")
}

// A sidecar of a controller's pod, as process SIDECAR-BESIDE.
func (c *cluster) startSidecar(kind, sidecar, beside string, extra ...string) error {
	template, err := c.controllerTemplate(kind)
	if err != nil {
		return err
	}
	pod, err := c.controllerPod(kind)
	if err != nil {
		return err
	}
	values := map[string]string{"NAMESPACE": namespace, "POD_NAME": pod}
	arguments := append(expand(containerArguments(template, sidecar), values),
		"--csi-address="+c.endpoint(beside), "--kubeconfig="+c.accounts["cephzone-"+kind+"-controller"],
		"--leader-election-lease-duration=10s", "--leader-election-renew-deadline=8s",
		"--leader-election-retry-period=1s", "--v=5")
	name := sidecar + "-" + beside
	process, err := c.start(name, launch{env: []string{"NAMESPACE=" + namespace, "POD_NAME=" + pod},
		hostname: beside}, append(append([]string{c.tool(sidecar)}, arguments...), extra...)...)
	if err != nil {
		return err
	}
	c.controllers[name] = process
	return nil
}

func (c *cluster) runSidecar(sidecar, beside string, extra ...string) error {
	return c.startSidecar("rbd", sidecar, beside, extra...)
}

func (c *cluster) runProvisioner(beside string, extra ...string) error {
	return c.runSidecar("csi-provisioner", beside, append([]string{"--capacity-poll-interval=2s",
		"--retry-interval-max=5s", "--kube-api-capacity-qps=50"}, extra...)...)
}

// CephFS has a driver and an account of its own.
func (c *cluster) startCephFS() error {
	account := "cephzone-cephfs-controller"
	path, err := c.accountKubeconfig(namespace, account)
	if err != nil {
		return err
	}
	c.accounts[account] = path
	if err := c.startController("cephfs", "cephfs", "c1"); err != nil {
		return err
	}
	return c.startSidecar("cephfs", "csi-provisioner", "cephfs")
}

// The node plugin's container on @k, which registers itself.
func (c *cluster) runNodePlugin(k *kubelet) error {
	set, err := c.client.AppsV1().DaemonSets(namespace).Get(context.Background(), "cephzone-rbd-node",
		metav1.GetOptions{})
	if err != nil {
		return err
	}
	arguments := expand(containerArguments(&set.Spec.Template.Spec, "csi-rbdplugin"),
		map[string]string{"NODE_ID": k.name})
	socket := filepath.Join(k.dir, "csi.sock")
	arguments = append(arguments, "--endpoint=unix://"+socket, "--configpath="+c.file("config.json"),
		"--takeover-file="+c.file("takeover.json"), "--kubeconfig="+c.accounts["cephzone-rbd-node"],
		"--rundir="+filepath.Join(k.dir, "run"), "--registration-dir="+k.registry(), "--v=3")
	process, err := c.start("node-"+k.name, launch{namespace: k.name, hostname: k.name},
		append([]string{filepath.Join(c.build, "cephcsi")}, arguments...)...)
	c.plugins[k.name] = process
	return err
}

func (c *cluster) startNodes() error {
	for _, place := range places {
		k, err := startKubelet(c, place.node, place.zone, place.address)
		if err != nil {
			return err
		}
		c.nodes[place.node] = k
	}
	return nil
}

func (c *cluster) startNodePlugins() error {
	for _, place := range places {
		if err := c.runNodePlugin(c.nodes[place.node]); err != nil {
			return err
		}
	}
	return nil
}

// What csi-attacher does for a driver that has nothing to attach: it says that it is attached. The
// proxy has no csi-attacher, hence this.
func (c *cluster) attach() {
	patch, _ := json.Marshal(map[string]any{"status": map[string]any{"attached": true}})
	for {
		list, err := c.client.StorageV1().VolumeAttachments().List(context.Background(), metav1.ListOptions{})
		for i := 0; err == nil && i < len(list.Items); i++ {
			if !list.Items[i].Status.Attached && list.Items[i].DeletionTimestamp == nil {
				_, _ = c.client.StorageV1().VolumeAttachments().Patch(context.Background(), list.Items[i].Name,
					types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			}
		}
		time.Sleep(300 * time.Millisecond)
	}
}
