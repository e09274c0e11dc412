package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Everything that is waited for may take so long on a machine with other work to do.
const patience = 3 * time.Minute

// Why a scenario failed. Thrown by fail() and caught by outcome().
type failure string

// A scenario that runs, in a Kubernetes namespace of its own.
type test struct {
	*cluster
	namespace string
}

var background = context.Background()

func (t *test) fail(format string, arguments ...any) {
	panic(failure(fmt.Sprintf(format, arguments...)))
}

func (t *test) must(err error, format string, arguments ...any) {
	if err != nil {
		t.fail("%s: %v", fmt.Sprintf(format, arguments...), err)
	}
}

// Repeats @attempt until it gives no error; the last error is the reason if it never does.
// A figure of this run, beside the verdict; nothing depends on it.
func (t *test) tell(format string, values ...any) {
	fmt.Printf("        "+format+"\n", values...)
}

func (t *test) wait(what string, attempt func() error) {
	t.must(until(patience, attempt), "waiting for %s", what)
}

func (t *test) createNamespace() {
	_, err := t.client.CoreV1().Namespaces().Create(background,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}, metav1.CreateOptions{})
	t.must(err, "create namespace")
	t.wait("the default service account", func() error {
		_, err := t.client.CoreV1().ServiceAccounts(t.namespace).Get(background, "default", metav1.GetOptions{})
		return err
	})
}

// --- objects ---

func (t *test) claim(name, class, size string) *corev1.PersistentVolumeClaim {
	return t.createClaim(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: claimSpec(class, size)})
}

func claimSpec(class, size string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{StorageClassName: &class,
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}}
}

func (t *test) createClaim(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	made, err := t.client.CoreV1().PersistentVolumeClaims(t.namespace).Create(background, claim, metav1.CreateOptions{})
	t.must(err, "create claim '%s'", claim.Name)
	return made
}

func podSpec(selector map[string]string, claims ...string) corev1.PodSpec {
	spec := corev1.PodSpec{NodeSelector: selector,
		Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}}
	for _, claim := range claims {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	return spec
}

func (t *test) pod(name string, selector map[string]string, claims ...string) {
	_, err := t.client.CoreV1().Pods(t.namespace).Create(background, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: podSpec(selector, claims...)}, metav1.CreateOptions{})
	t.must(err, "create pod '%s'", name)
}

func inZone(zone string) map[string]string {
	return map[string]string{corev1.LabelTopologyZone: zone}
}

// A class like an installed one, with changes.
func (t *test) classLike(original, name string, change func(*storagev1.StorageClass)) {
	class, err := t.client.StorageV1().StorageClasses().Get(background, original, metav1.GetOptions{})
	t.must(err, "read class '%s'", original)
	class.ObjectMeta = metav1.ObjectMeta{Name: name}
	change(class)
	_, err = t.client.StorageV1().StorageClasses().Create(background, class, metav1.CreateOptions{})
	t.must(err, "create class '%s'", name)
}

func (t *test) deleteClass(name string) {
	err := t.client.StorageV1().StorageClasses().Delete(background, name, metav1.DeleteOptions{})
	t.must(err, "delete class '%s'", name)
}

// --- what became of them ---

func (t *test) getPod(name string) (*corev1.Pod, error) {
	return t.client.CoreV1().Pods(t.namespace).Get(background, name, metav1.GetOptions{})
}

// Waits until the pod runs and gives its node.
func (t *test) nodeOf(name string) *kubelet {
	node := ""
	t.wait("pod '"+name+"' to run", func() error {
		pod, err := t.getPod(name)
		if err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			return fmt.Errorf("it is %s on node '%s': %s", pod.Status.Phase, pod.Spec.NodeName, scheduling(pod))
		}
		node = pod.Spec.NodeName
		return nil
	})
	return t.nodes[node]
}

// What the scheduler said last.
func scheduling(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Message
		}
	}
	return "the scheduler has said nothing"
}

// Waits until the claim is bound and gives its volume.
func (t *test) volumeOf(claim string) *corev1.PersistentVolume {
	var pv *corev1.PersistentVolume
	t.wait("claim '"+claim+"' to be bound", func() error {
		pvc, err := t.client.CoreV1().PersistentVolumeClaims(t.namespace).Get(background, claim, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pvc.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s", pvc.Status.Phase)
		}
		pv, err = t.client.CoreV1().PersistentVolumes().Get(background, pvc.Spec.VolumeName, metav1.GetOptions{})
		return err
	})
	return pv
}

// The pool in which the volume's image is. It must be in that one alone.
func (t *test) poolOf(pv *corev1.PersistentVolume) string {
	var found []string
	image := "csi-vol-" + uuidOf(pv)
	for _, pool := range []string{"common", "zone-a", "zone-b", "zone-c"} {
		images, err := t.ceph.images(pool)
		t.must(err, "list images of '%s'", pool)
		if slices.Contains(images, image) {
			found = append(found, pool)
		}
	}
	if len(found) != 1 {
		t.fail("image '%s' of '%s' is in pools %v", image, pv.Name, found)
	}
	return found[0]
}

func uuidOf(pv *corev1.PersistentVolume) string {
	handle := pv.Spec.CSI.VolumeHandle
	return handle[len(handle)-36:]
}

// What the volume is pinned to: "KEY=VALUE,..." for each term.
func pins(pv *corev1.PersistentVolume) []string {
	var terms []string
	if pv.Spec.NodeAffinity == nil {
		return nil
	}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		var parts []string
		for _, e := range term.MatchExpressions {
			parts = append(parts, e.Key+"="+strings.Join(e.Values, "|"))
		}
		slices.Sort(parts)
		terms = append(terms, strings.Join(parts, ","))
	}
	return terms
}

func memberKey(zone string) string {
	return "topology." + driverName + "/member.zone." + zone
}

// Asserts that the volume is in the zone's pool, by Ceph, and pinned to the zone, by its PV.
func (t *test) mustBeIn(pv *corev1.PersistentVolume, zone string) {
	t.mustBePinned(pv, zone, memberKey(zone)+"=true")
}

func (t *test) mustBePinned(pv *corev1.PersistentVolume, pool, pin string) {
	if found := t.poolOf(pv); found != pool {
		t.fail("the volume is in pool '%s', not in '%s'", found, pool)
	}
	if got := pins(pv); !slices.Equal(got, []string{pin}) {
		t.fail("the volume is pinned to %v, not to %s", got, pin)
	}
	out, err := output("rados", "-c", t.ceph.conf, "-p", "common", "listomapkeys", "csi.volumes.default")
	t.must(err, "read the journal")
	if !strings.Contains(out, "csi.volume."+pv.Name+"\n") {
		t.fail("the journal in pool 'common' does not know '%s': %s", pv.Name, out)
	}
}

// --- the end ---

func (t *test) deleteAll() error {
	now := int64(0)
	everything := metav1.ListOptions{}
	_ = t.client.AppsV1().StatefulSets(t.namespace).DeleteCollection(background, metav1.DeleteOptions{}, everything)
	if err := t.client.CoreV1().Pods(t.namespace).DeleteCollection(background,
		metav1.DeleteOptions{GracePeriodSeconds: &now}, everything); err != nil {
		return err
	}
	return t.client.CoreV1().PersistentVolumeClaims(t.namespace).DeleteCollection(background,
		metav1.DeleteOptions{}, everything)
}

func (t *test) nothingIsLeft() error {
	volumes, err := t.client.CoreV1().PersistentVolumes().List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(volumes.Items) > 0 {
		pv := volumes.Items[0]
		return fmt.Errorf("volume '%s' is still %s %s", pv.Name, pv.Status.Phase, pv.Status.Message)
	}
	left, err := t.ceph.leftovers()
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("Ceph still has %v", left)
	}
	return err
}

func (t *test) cleanUp() {
	t.must(t.deleteAll(), "delete")
	t.wait("all volumes to be gone", t.nothingIsLeft)
	err := t.client.CoreV1().Namespaces().Delete(background, t.namespace, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.fail("delete namespace: %v", err)
	}
}

// After a failure, so that the next scenario begins as it should. Its own failure says nothing new.
func (t *test) tryCleanUp() {
	defer func() { _ = recover() }()
	for _, zone := range zones {
		_ = t.ceph.setQuota(zone, 0)
		if t.nodes[nodesOf(zone)[0]].failed {
			t.giveBack(zone)
		}
	}
	t.cleanUp()
}

// For whoever reads the log of a failure: the objects and the last lines of those who act on them.
func (t *test) printState() {
	out, _ := t.kubectl("get", "pods,pvc,pv,csistoragecapacities,volumeattachments", "-A", "-o", "wide")
	fmt.Print(out)
	out, _ = t.kubectl("get", "events", "-n", t.namespace, "--sort-by=.lastTimestamp")
	fmt.Print(out)
	for _, name := range []string{"controller-1", "csi-provisioner-controller-1"} {
		text, _ := os.ReadFile(t.logs + "/" + name + ".log")
		lines := regexp.MustCompile(`\r?\n`).Split(string(text), -1)
		fmt.Printf("--- %s\n%s\n", name, strings.Join(lines[max(0, len(lines)-12):], "\n"))
	}
}
