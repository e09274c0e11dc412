package main

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A zone that fails, is taken over by another and given back.

const leaseName = driverName + "-takeover"

// A StatefulSet of one pod that would rather run in zone-a. Gives its volume, which is there.
func (t *test) database() *corev1.PersistentVolume {
	one, labels := int32(1), map[string]string{"app": "db"}
	spec := podSpec(nil)
	spec.Affinity = preferring("zone-a")
	_, err := t.client.AppsV1().StatefulSets(t.namespace).Create(background, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{Replicas: &one, ServiceName: "db",
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec("rbd-zones", "1Gi")}}}},
		metav1.CreateOptions{})
	t.must(err, "create the StatefulSet")
	if node := t.nodeOf("db-0"); node.zone != "zone-a" {
		t.fail("the pod is on '%s'", node.name)
	}
	pv := t.volumeOf("data-db-0")
	t.mustBeIn(pv, "zone-a")
	return pv
}

// A client on a node that writes to the volume for as long as it is let.
type writer struct {
	*process
	log string
}

func (t *test) startWriter(node *kubelet, pv *corev1.PersistentVolume) *writer {
	name := "writer-" + t.namespace
	p, err := t.start(name, launch{namespace: node.name}, "tests/e2e/writer", t.ceph.conf, "zone-a", "csi-vol-"+uuidOf(pv))
	t.must(err, "start the writer")
	w := &writer{p, t.logs + "/" + name + ".log"}
	t.wait("the writer to write", func() error {
		_, err := w.lastWrite()
		return err
	})
	return w
}

func (w *writer) text() string {
	text, _ := os.ReadFile(w.log)
	return string(text)
}

// When the last write began that was acknowledged.
func (w *writer) lastWrite() (time.Time, error) {
	lines := regexp.MustCompile(`(?m)^\d+\.\d+$`).FindAllString(w.text(), -1)
	if len(lines) == 0 {
		return time.Time{}, fmt.Errorf("it said: %s", w.text())
	}
	seconds, err := strconv.ParseFloat(lines[len(lines)-1], 64)
	return time.UnixMicro(int64(seconds * 1e6)), err
}

// What was true when the first label appeared.
type labelled struct {
	node   string
	at     time.Time
	fenced []string
}

// Follows the Nodes until one outside of the zone gets its membership.
func (t *test) firstLabel(zone string) <-chan labelled {
	result := make(chan labelled, 1)
	nodes, err := t.client.CoreV1().Nodes().List(background, metav1.ListOptions{})
	t.must(err, "list nodes")
	watch, err := t.client.CoreV1().Nodes().Watch(background, metav1.ListOptions{ResourceVersion: nodes.ResourceVersion})
	t.must(err, "watch nodes")
	go func() {
		defer watch.Stop()
		for event := range watch.ResultChan() {
			node, ok := event.Object.(*corev1.Node)
			if !ok || node.Labels[memberKey(zone)] == "" || node.Labels[corev1.LabelTopologyZone] == zone {
				continue
			}
			seen := labelled{node: node.Name, at: time.Now()}
			seen.fenced, _ = t.ceph.fenced()
			result <- seen
			return
		}
	}()
	return result
}

func (t *test) takeover(arguments ...string) (string, error) {
	command := append([]string{t.build + "/cephzone", "takeover"}, arguments...)
	return output(append(command, "--kubeconfig="+t.kubeconfig, "--namespace="+namespace,
		"--config="+t.file("config.json"), "--keyring="+t.file("keyring"))...)
}

func (t *test) takeoverSays(text string) {
	t.wait("takeover status to say '"+text+"'", func() error {
		out, err := t.takeover("status")
		if !strings.Contains(out, text) {
			return fmt.Errorf("it says %s %v", out, err)
		}
		return nil
	})
}

func nodesOf(zone string) (nodes []string) {
	for _, place := range places {
		if place.zone == zone {
			nodes = append(nodes, place.node)
		}
	}
	return nodes
}

// The zone is cut off from Kubernetes, not from Ceph: its clients go on writing.
func (t *test) failZone(zone string) {
	for _, name := range nodesOf(zone) {
		t.nodes[name].fail()
	}
	for _, name := range nodesOf(zone) {
		t.wait("node '"+name+"' to be seen as failed", func() error {
			node, err := t.client.CoreV1().Nodes().Get(background, name, metav1.GetOptions{})
			if err == nil && isReady(node) {
				err = fmt.Errorf("it is ready")
			}
			return err
		})
	}
}

func (t *test) rebootZone(zone string) {
	for _, name := range nodesOf(zone) {
		t.plugins[name].kill()
		t.nodes[name].reboot()
		t.must(t.runNodePlugin(t.nodes[name]), "start the node plugin of '%s'", name)
	}
}

// All that a takeover of the zone left on nodes and in Ceph must be gone.
func (t *test) noTraceOfTakeover(zone string) error {
	for _, place := range places {
		node, err := t.client.CoreV1().Nodes().Get(background, place.node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if _, there := node.Labels[memberKey(zone)]; there != (place.zone == zone) {
			return fmt.Errorf("node '%s': membership of '%s' is %v", place.node, zone, there)
		}
		for _, taint := range node.Spec.Taints {
			return fmt.Errorf("node '%s' has the taint %s", place.node, taint.Key)
		}
	}
	notes, err := t.client.CoreV1().ConfigMaps(namespace).Get(background, "cephzone-fences", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(notes.Data) > 0 {
		return fmt.Errorf("there are notes of fences: %v", notes.Data)
	}
	fenced, err := t.ceph.fenced()
	if err == nil && len(fenced) > 0 {
		err = fmt.Errorf("%v are fenced", fenced)
	}
	return err
}

func (t *test) mustBeUntouched(pv *corev1.PersistentVolume) {
	now, err := t.client.CoreV1().PersistentVolumes().Get(background, pv.Name, metav1.GetOptions{})
	t.must(err, "read volume")
	if now.ResourceVersion != pv.ResourceVersion || !reflect.DeepEqual(now.Spec, pv.Spec) {
		t.fail("volume '%s' was changed: %+v, it was %+v", pv.Name, now, pv)
	}
}

// The zone comes back, and the driver sees to the rest.
func (t *test) giveBack(zone string) {
	t.rebootZone(zone)
	_, err := t.takeover("giveback", zone)
	t.must(err, "give back")
}

func (t *test) mustBeGivenBack(zone string) {
	t.wait("'"+zone+"' to be given back", func() error { return t.noTraceOfTakeover(zone) })
	t.wait("pod 'db-0' to be back in '"+zone+"'", func() error {
		pod, err := t.getPod("db-0")
		if err != nil {
			return err
		}
		node := t.nodes[pod.Spec.NodeName]
		if node == nil || node.zone != zone || pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s on '%s': %s", pod.Status.Phase, pod.Spec.NodeName, scheduling(pod))
		}
		return nil
	})
}

func zoneIsTakenOver(t *test) {
	pv := t.database()
	t.claim("late", "rbd-zones", "1Gi")
	t.pod("early", inZone("zone-a"), "late")
	t.nodeOf("early")
	late := t.volumeOf("late")
	now := int64(0)
	t.must(t.client.CoreV1().Pods(t.namespace).Delete(background, "early",
		metav1.DeleteOptions{GracePeriodSeconds: &now}), "delete pod")

	writer := t.startWriter(t.nodeOf("db-0"), pv)
	defer writer.kill()
	t.failZone("zone-a")
	t.pod("pending", nil, "late")
	t.mustStayPending("pending", "node(s) didn't match PersistentVolume's node affinity")
	if !writer.runs() {
		t.fail("the writer ended before anybody was fenced: %v", writer.err)
	}

	plan, err := t.takeover("start", "zone-a", "--to=zone-b", "--dry-run")
	t.must(err, "plan the takeover")
	if !strings.Contains(plan, "fence node 'a1'") || !strings.Contains(plan, "label node 'b2'") {
		t.fail("the plan is: %s", plan)
	}
	first := t.firstLabel("zone-a")
	_, err = t.takeover("start", "zone-a", "--to=zone-b")
	t.must(err, "start the takeover")
	t.mustBeFencedFirst(first, writer)

	t.takeoverSays("takeover done")
	for _, pod := range []string{"db-0", "pending"} {
		node := t.nodeOf(pod)
		if node.zone != "zone-b" {
			t.fail("pod '%s' is on '%s'", pod, node.name)
		}
		t.explainAgreesWith(pod, node)
	}
	t.mustBeUntouched(pv)
	t.mustBeUntouched(late)
	t.waitForRoom("rbd-zones", "zone-a", 1, false)

	t.giveBack("zone-a")
	t.takeoverSays("pods without a controller have to be moved by hand")
	t.must(t.client.CoreV1().Pods(t.namespace).Delete(background, "pending", metav1.DeleteOptions{}), "delete pod")
	t.mustBeGivenBack("zone-a")
	t.mustBeUntouched(pv)
	t.waitForRoom("rbd-zones", "zone-a", gib, true)
	t.claim("new", "rbd-zones", "1Gi")
	t.pod("new", inZone("zone-a"), "new")
	t.nodeOf("new")
	t.mustBeIn(t.volumeOf("new"), "zone-a")
}

// When the first label appeared, both nodes were fenced, and nothing was written any more.
func (t *test) mustBeFencedFirst(first <-chan labelled, writer *writer) {
	var seen labelled
	select {
	case seen = <-first:
	case <-time.After(patience):
		out, _ := t.takeover("status")
		t.fail("no label appeared: %s", out)
	}
	for _, name := range nodesOf("zone-a") {
		if !slices.Contains(seen.fenced, t.nodes[name].address) {
			t.fail("node '%s' was labelled while only %v were fenced", seen.node, seen.fenced)
		}
	}
	t.wait("the writer to end", func() error {
		if writer.runs() {
			return fmt.Errorf("it writes")
		}
		return nil
	})
	if !strings.Contains(writer.text(), "ended: ConnectionShutdown") {
		t.fail("the writer was not ended by a fence: %s", writer.text())
	}
	last, err := writer.lastWrite()
	t.must(err, "read what the writer wrote")
	fmt.Printf("figure: the last write that was acknowledged began %.3f s before the first label was seen\n",
		seen.at.Sub(last).Seconds())
	if last.After(seen.at) {
		t.fail("the writer wrote %v after node '%s' was labelled", last.Sub(seen.at), seen.node)
	}
}

// --- several controllers ---

func (t *test) leader() (string, error) {
	lease, err := t.client.CoordinationV1().Leases(namespace).Get(background, leaseName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, name := range []string{"controller-1", "controller-2"} {
		if lease.Spec.HolderIdentity != nil && strings.HasPrefix(*lease.Spec.HolderIdentity, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("nobody holds the lease")
}

func (t *test) waitForLeader(others ...string) (leader string) {
	t.wait("a leader", func() (err error) {
		leader, err = t.leader()
		if err == nil && slices.Contains(others, leader) {
			err = fmt.Errorf("it is still '%s'", leader)
		}
		return err
	})
	return leader
}

// Kills the leader as soon as Ceph has the first fence; the other one goes on from there.
func leaderIsKilledMidway(t *test) {
	t.must(t.runController("controller-2", "c2"), "start the second controller")
	defer func() { t.controllers["controller-2"].stop() }()
	pv := t.database()
	leader := t.waitForLeader()
	t.failZone("zone-a")
	_, err := t.takeover("start", "zone-a", "--to=zone-b")
	t.must(err, "start the takeover")
	t.wait("the first fence", func() error {
		fenced, err := t.ceph.fenced()
		if err == nil && len(fenced) == 0 {
			err = fmt.Errorf("nobody is fenced")
		}
		return err
	})
	t.controllers[leader].kill()
	t.waitForLeader(leader)
	t.takeoverSays("takeover done")
	if node := t.nodeOf("db-0"); node.zone != "zone-b" {
		t.fail("the pod is on '%s'", node.name)
	}
	if leader == "controller-1" {
		t.must(t.runController("controller-1", "c1"), "start the first controller again")
		t.restartProvisioner()
	}
	t.giveBack("zone-a")
	t.mustBeGivenBack("zone-a")
	t.mustBeUntouched(pv)
}

// Many volumes are under way when the controller dies, with the sidecar that hung on it.
func controllerIsKilledMidway(t *test) {
	const count = 8
	for i := range count {
		name := fmt.Sprintf("data-%d", i)
		t.claim(name, "rbd-zones", "1Gi")
		t.pod(fmt.Sprintf("pod-%d", i), inZone(zones[i%3]), name)
	}
	t.wait("the first volume", func() error {
		left, err := t.ceph.leftovers()
		if err == nil && len(left) == 0 {
			err = fmt.Errorf("Ceph has none")
		}
		return err
	})
	_ = t.controllers["controller-1"].cmd.Process.Signal(syscall.SIGKILL)
	t.must(t.runController("controller-1", "c1"), "start the controller again")
	t.restartProvisioner()
	var images int
	for i := range count {
		t.nodeOf(fmt.Sprintf("pod-%d", i))
		t.mustBeIn(t.volumeOf(fmt.Sprintf("data-%d", i)), zones[i%3])
	}
	for _, pool := range append([]string{"common"}, zones...) {
		found, err := t.ceph.images(pool)
		t.must(err, "list images")
		images += len(found)
	}
	if images != count {
		t.fail("there are %d images for %d claims", images, count)
	}
}
