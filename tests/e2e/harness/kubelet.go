package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/storage/volume"
)

// A node without containers: its Node and Lease are kept fresh, plugins are registered as kubelet
// does it (registration.go), and pods that are bound to it run as soon as their volumes may be used
// here. Nothing is mounted.
type kubelet struct {
	client  kubernetes.Interface
	name    string
	zone    string
	address string // in the network namespace of the same name
	dir     string // its /var/lib/kubelet
	uid     types.UID
	log     *os.File
	plugins map[string]plugin // by the path of the registration socket
	inUse   []string          // volumes, as Node.status tells them
	ceph    *ceph
	staged  map[string]bool // volumes whose images have a record of this node

	mutex  sync.Mutex
	failed bool
	bootID string
}

type plugin struct {
	driver string
	inode  uint64
}

const region = "region-1"

func (k *kubelet) note(format string, arguments ...any) {
	fmt.Fprintf(k.log, "%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, arguments...))
}

// The node is cut off: nobody hears of it, and it hears of nothing.
func (k *kubelet) fail() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.failed = true
}

// It has rebooted: nothing of what it had in memory is left.
func (k *kubelet) reboot() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.failed = false
	k.bootID = newUUID()
	k.inUse = nil
}

func newUUID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/uuid")
	return string(text[:36])
}

func startKubelet(c *cluster, name, zone, address string) (*kubelet, error) {
	k := &kubelet{client: c.client, name: name, zone: zone, address: address,
		dir: filepath.Join(c.dir, "kubelet", name), plugins: map[string]plugin{}, bootID: newUUID(),
		ceph: &c.ceph, staged: map[string]bool{}}
	if err := os.MkdirAll(k.registry(), 0o700); err != nil {
		return nil, err
	}
	var err error
	if k.log, err = os.Create(filepath.Join(c.logs, "kubelet-"+name+".log")); err != nil {
		return nil, err
	}
	node, err := k.client.CoreV1().Nodes().Create(context.Background(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:       name,
			corev1.LabelOSStable:       "linux",
			corev1.LabelArchStable:     "amd64",
			corev1.LabelTopologyRegion: region,
			corev1.LabelTopologyZone:   zone,
		}}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	k.uid = node.UID
	go k.run()
	return k, nil
}

func (k *kubelet) run() {
	for {
		k.mutex.Lock()
		if !k.failed {
			k.beat()
			k.syncPlugins()
			k.syncPods()
		}
		k.mutex.Unlock()
		time.Sleep(300 * time.Millisecond)
	}
}

func (k *kubelet) beat() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := k.renewLease(ctx); err != nil {
		k.note("lease: %v", err)
	}
	if err := k.updateStatus(ctx); err != nil {
		k.note("status: %v", err)
	}
}

func (k *kubelet) renewLease(ctx context.Context) error {
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, seconds := metav1.NewMicroTime(time.Now()), int32(40)
	lease, err := leases.Get(ctx, k.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: k.name}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &k.name, LeaseDurationSeconds: &seconds, RenewTime: &now}}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return err
	}
	if err != nil || now.Sub(lease.Spec.RenewTime.Time) < 2*time.Second {
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// Written when something in it is new; the Lease is the sign of life.
func (k *kubelet) updateStatus(ctx context.Context) error {
	nodes := k.client.CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, k.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var inUse []corev1.UniqueVolumeName
		for _, name := range k.inUse {
			inUse = append(inUse, corev1.UniqueVolumeName(name))
		}
		if isReady(node) && node.Status.NodeInfo.BootID == k.bootID && slices.Equal(node.Status.VolumesInUse, inUse) {
			return nil
		}
		room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"),
			corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
		now := metav1.Now()
		node.Status.Capacity, node.Status.Allocatable = room, room
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: k.address}}
		node.Status.NodeInfo = corev1.NodeSystemInfo{BootID: k.bootID, KubeletVersion: "v1.36.3",
			OperatingSystem: "linux", Architecture: "amd64"}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now}}
		node.Status.VolumesInUse = inUse
		_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// --- pods ---

func (k *kubelet) syncPods() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	pods, err := k.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + k.name})
	if err != nil {
		k.note("pods: %v", err)
		return
	}
	var inUse []string
	for i := range pods.Items {
		volumes, err := k.syncPod(ctx, &pods.Items[i])
		if err != nil {
			k.note("pod %s: %v", pods.Items[i].Name, err)
		}
		inUse = append(inUse, volumes...)
	}
	slices.Sort(inUse)
	k.inUse = slices.Compact(inUse)
}

// Gives the volumes that the pod uses here.
func (k *kubelet) syncPod(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	if pod.DeletionTimestamp != nil {
		now := int64(0)
		err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		return nil, err
	}
	volumes, err := k.volumesOf(ctx, pod)
	if err != nil || pod.Status.Phase == corev1.PodRunning {
		return volumes, err
	}
	now := metav1.Now()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.StartTime = &now
	pod.Status.PodIP, pod.Status.HostIP = k.address, k.address
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now})
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
	_, err = k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	k.note("pod %s runs: %v", pod.Name, err)
	return volumes, err
}

// Kubelet looks at the affinity of volumes before every mount, as the scheduler did before.
func (k *kubelet) volumesOf(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	var names []string
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		pv, err := k.volumeOf(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return nil, err
		}
		if err := k.record(pv); err != nil {
			return nil, err
		}
		names = append(names, fmt.Sprintf("kubernetes.io/csi/%s^%s", pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle))
	}
	return names, nil
}

// What NodeStageVolume does first, which nobody calls here: it writes the address of the node into the
// metadata of the image, so that a takeover knows who may write to it.
func (k *kubelet) record(pv *corev1.PersistentVolume) error {
	handle := pv.Spec.CSI.VolumeHandle
	if pv.Spec.CSI.Driver != driverName || k.staged[handle] {
		return nil
	}
	_, err := output("rbd", "-c", k.ceph.conf, "image-meta", "set", pv.Spec.CSI.VolumeAttributes["pool"]+"/csi-vol-"+uuidOf(pv),
		".rbd.csi.ceph.com/clientaddress/"+handle+"/"+k.name, k.address)
	k.staged[handle] = err == nil
	return err
}

func (k *kubelet) volumeOf(ctx context.Context, namespace, claim string) (*corev1.PersistentVolume, error) {
	pvc, err := k.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, claim, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if pvc.Status.Phase != corev1.ClaimBound {
		return nil, fmt.Errorf("claim '%s' is %s", claim, pvc.Status.Phase)
	}
	pv, err := k.client.CoreV1().PersistentVolumes().Get(ctx, pvc.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if err := volume.CheckNodeAffinity(pv, node.Labels); err != nil {
		return nil, fmt.Errorf("MountVolume.NodeAffinity check failed for volume %q: %w", pv.Name, err)
	}
	return pv, nil
}
