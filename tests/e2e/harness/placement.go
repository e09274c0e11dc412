package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Where volumes go: binding modes, allowed topologies, room.

var zones = []string{"zone-a", "zone-b", "zone-c"}

func volumeFollowsPod(t *test) {
	for _, zone := range zones {
		t.claim("data-"+zone, "rbd-zones", "1Gi")
		t.pod("pod-"+zone, inZone(zone), "data-"+zone)
	}
	for _, zone := range zones {
		if node := t.nodeOf("pod-" + zone); node.zone != zone {
			t.fail("the pod is on '%s'", node.name)
		}
		t.mustBeIn(t.volumeOf("data-"+zone), zone)
	}
}

func immediateIsNotPinned(t *test) {
	immediate := storagev1.VolumeBindingImmediate
	t.classLike("rbd-zones", "immediate", func(class *storagev1.StorageClass) {
		class.VolumeBindingMode = &immediate
	})
	defer t.deleteClass("immediate")
	t.claim("data", "immediate", "1Gi")
	pv := t.volumeOf("data")
	if pool := t.poolOf(pv); pool != "common" || pins(pv) != nil {
		t.fail("the volume is in pool '%s', pinned to %v", pool, pins(pv))
	}
	t.pod("pod", inZone("zone-c"), "data")
	t.nodeOf("pod")
}

// csi-provisioner tells the class's own terms then, which name no membership: unless the class asks
// for that, the volume is pinned as Ceph-CSI would.
func immediateIsWhereAllowed(t *test) {
	immediate, plain := storagev1.VolumeBindingImmediate, "topology."+driverName+"/zone"
	for pinning, want := range map[string]string{"auto": plain + "=zone-b", "membership": memberKey("zone-b") + "=true"} {
		name := "immediate-" + pinning
		t.classLike("rbd-zones", name, func(class *storagev1.StorageClass) {
			class.VolumeBindingMode = &immediate
			class.Parameters["topologyPinning"] = pinning
			class.AllowedTopologies = []corev1.TopologySelectorTerm{{
				MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: plain, Values: []string{"zone-b"}}}}}
		})
		defer t.deleteClass(name)
		t.claim(name, name, "1Gi")
		t.pod(name, nil, name)
		t.mustBePinned(t.volumeOf(name), "zone-b", want)
		if node := t.nodeOf(name); node.zone != "zone-b" {
			t.fail("the pod is on '%s'", node.name)
		}
	}
}

func immediateIsSpread(t *test) {
	immediate := storagev1.VolumeBindingImmediate
	for _, way := range []string{"spread", "pin"} {
		class := "immediate-" + way
		t.classLike("rbd-zones", class, func(class *storagev1.StorageClass) {
			class.VolumeBindingMode = &immediate
			class.Parameters["immediateTopology"] = way
			class.Parameters["poolSelection"] = "spread"
		})
		defer t.deleteClass(class)
		var used []string
		for i := range zones {
			name := fmt.Sprintf("%s-%d", way, i)
			t.claim(name, class, "1Gi")
			pv := t.volumeOf(name)
			used = append(used, t.poolOf(pv))
			if (pins(pv) != nil) != (way == "pin") {
				t.fail("volume '%s' is pinned to %v", name, pins(pv))
			}
		}
		if slices.Sort(used); !slices.Equal(used, zones) {
			t.fail("the volumes of '%s' are in %v", class, used)
		}
	}
	t.pod("anywhere", inZone("zone-c"), "spread-0")
	t.nodeOf("anywhere")
	t.pod("pinned", nil, "pin-0")
	zone := t.nodeOf("pinned").zone
	t.mustBePinned(t.volumeOf("pin-0"), zone, "topology."+driverName+"/zone="+zone)
}

// The class lists two zones, and the pod is to run in the third.
func unservedZoneIsServed(t *test) {
	t.classLike("rbd-zones", "two-zones", func(class *storagev1.StorageClass) {
		class.Parameters["unservedDomains"] = "anywhere"
		var entries []map[string]any
		t.must(json.Unmarshal([]byte(class.Parameters["topologyConstrainedPools"]), &entries), "read the pools")
		entries = slices.DeleteFunc(entries, func(entry map[string]any) bool { return entry["poolName"] == "zone-c" })
		text, err := json.Marshal(entries)
		t.must(err, "write the pools")
		class.Parameters["topologyConstrainedPools"] = string(text)
	})
	defer t.deleteClass("two-zones")
	t.claim("data", "two-zones", "1Gi")
	t.pod("pod", inZone("zone-c"), "data")
	if node := t.nodeOf("pod"); node.zone != "zone-c" {
		t.fail("the pod is on '%s'", node.name)
	}
	pv := t.volumeOf("data")
	if pool := t.poolOf(pv); pins(pv) != nil || pool == "zone-c" || pool == "common" {
		t.fail("the volume is in pool '%s', pinned to %v", pool, pins(pv))
	}
}

func allowedTopologiesHold(t *test) {
	t.claim("data", "rbd-zones-a-b", "1Gi")
	t.pod("pod", nil, "data")
	node := t.nodeOf("pod")
	if node.zone == "zone-c" {
		t.fail("the pod is on '%s'", node.name)
	}
	t.mustBeIn(t.volumeOf("data"), node.zone)

	t.claim("elsewhere", "rbd-zones-a-b", "1Gi")
	t.pod("pod-c", inZone("zone-c"), "elsewhere")
	t.mustStayPending("pod-c", "node(s) didn't find available persistent volumes to bind")
}

func statefulSetSpreads(t *test) {
	replicas, labels := int32(3), map[string]string{"app": "web"}
	spec := podSpec(nil)
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1,
		TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	_, err := t.client.AppsV1().StatefulSets(t.namespace).Create(background, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, ServiceName: "web",
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector:            &metav1.LabelSelector{MatchLabels: labels},
			Template:            corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec("rbd-zones", "1Gi")}}}},
		metav1.CreateOptions{})
	t.must(err, "create the StatefulSet")
	var used []string
	for i := range 3 {
		node := t.nodeOf(fmt.Sprintf("web-%d", i))
		t.mustBeIn(t.volumeOf(fmt.Sprintf("data-web-%d", i)), node.zone)
		used = append(used, node.zone)
	}
	if slices.Sort(used); !slices.Equal(used, zones) {
		t.fail("the pods are in %v", used)
	}
}

// --- room ---

func preferring(zone string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}}}
}

// A pod that would rather be in the zone than elsewhere.
func (t *test) podPreferring(name, zone string, claims ...string) {
	spec := podSpec(nil, claims...)
	spec.Affinity = preferring(zone)
	_, err := t.client.CoreV1().Pods(t.namespace).Create(background, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	t.must(err, "create pod '%s'", name)
}

// The published room of a class in a zone.
func (t *test) publishedRoom(class, zone string) (int64, string, error) {
	list, err := t.client.StorageV1().CSIStorageCapacities(namespace).List(background, metav1.ListOptions{})
	if err != nil {
		return 0, "", err
	}
	for _, object := range list.Items {
		if object.StorageClassName == class && object.NodeTopology != nil && object.Capacity != nil &&
			object.NodeTopology.MatchLabels["topology."+driverName+"/zone"] == zone {
			return object.Capacity.Value(), object.Labels["csi.storage.k8s.io/managed-by"], nil
		}
	}
	return 0, "", fmt.Errorf("no capacity of class '%s' in '%s' among %d", class, zone, len(list.Items))
}

// Waits until what is published says that @bytes do, or do not, fit.
func (t *test) waitForRoom(class, zone string, bytes int64, fits bool) {
	t.wait(fmt.Sprintf("the room of '%s' in '%s' to be published", class, zone), func() error {
		room, _, err := t.publishedRoom(class, zone)
		if err == nil && (room >= bytes) != fits {
			err = fmt.Errorf("it is %d", room)
		}
		return err
	})
}

const gib = int64(1) << 30

func fullZoneIsPassed(t *test) {
	t.waitForRoom("rbd-zones", "zone-a", 5*gib, true)
	t.must(t.ceph.setQuota("zone-a", gib), "set quota")
	defer func() { _ = t.ceph.setQuota("zone-a", 0) }()
	t.waitForRoom("rbd-zones", "zone-a", 5*gib, false)

	t.claim("data", "rbd-zones", "5Gi")
	t.podPreferring("pod", "zone-a", "data")
	node := t.nodeOf("pod")
	if node.zone == "zone-a" {
		t.fail("the pod is in the full zone")
	}
	t.mustBeIn(t.volumeOf("data"), node.zone)

	t.claim("stuck", "rbd-zones", "5Gi")
	t.pod("pod-a", inZone("zone-a"), "stuck")
	t.mustStayPending("pod-a", "node(s) did not have enough free storage")
	t.must(t.ceph.setQuota("zone-a", 0), "set quota")
	t.nodeOf("pod-a")
	t.mustBeIn(t.volumeOf("stuck"), "zone-a")
}

// The published room is old when the pod is scheduled: the driver refuses, and the pod moves on.
func refusalReschedules(t *test) {
	t.restartProvisioner("--capacity-poll-interval=30m")
	defer t.restartProvisioner()
	t.classLike("rbd-zones", "strict", func(class *storagev1.StorageClass) {
		class.Parameters["overcommit"] = "1"
	})
	defer t.deleteClass("strict")
	for _, zone := range zones {
		t.waitForRoom("strict", zone, 5*gib, true)
	}
	t.must(t.ceph.setQuota("zone-a", gib), "set quota")
	defer func() { _ = t.ceph.setQuota("zone-a", 0) }()
	t.wait("the driver to see the quota", func() error {
		out, err := output(t.build+"/cephzone", "call", "--endpoint="+t.endpoint("controller-1"), "GetCapacity",
			t.capacityRequest("strict", "zone-a"))
		if err == nil && strings.Contains(out, fmt.Sprint(gib)) {
			return nil
		}
		return fmt.Errorf("it sees %s %v", out, err)
	})

	t.claim("data", "strict", "5Gi")
	t.podPreferring("pod", "zone-a", "data")
	node := t.nodeOf("pod")
	if node.zone == "zone-a" {
		t.fail("the pod is in the full zone")
	}
	t.mustBeIn(t.volumeOf("data"), node.zone)
	t.mustHaveEvent("data", "ResourceExhausted")
}

// What csi-provisioner would ask.
func (t *test) capacityRequest(class, zone string) string {
	object, err := t.client.StorageV1().StorageClasses().Get(background, class, metav1.GetOptions{})
	t.must(err, "read class '%s'", class)
	text, err := json.Marshal(map[string]any{"parameters": object.Parameters,
		"accessible_topology": map[string]any{"segments": map[string]string{
			"topology." + driverName + "/zone": zone, memberKey(zone): "true"}}})
	t.must(err, "write the request")
	return string(text)
}

func (t *test) restartProvisioner(extra ...string) {
	t.controllers["csi-provisioner-controller-1"].stop()
	t.must(t.runProvisioner("controller-1", extra...), "start csi-provisioner")
}

func (t *test) mustHaveEvent(object, text string) {
	events, err := t.client.CoreV1().Events(t.namespace).List(background, metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + object})
	t.must(err, "read events")
	var seen []string
	for _, event := range events.Items {
		if strings.Contains(event.Message, text) {
			return
		}
		seen = append(seen, event.Message)
	}
	t.fail("no event of '%s' says '%s': %v", object, text, seen)
}

// --- a claim that goes while its volume is made ---

// Stops and continues the OSD that holds a zone's pool.
func (t *test) signalOSD(number int, signal syscall.Signal) {
	text, err := os.ReadFile(fmt.Sprintf("%s/ceph/run/osd.%d.pid", t.dir, number))
	t.must(err, "find OSD %d", number)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	t.must(err, "find OSD %d", number)
	t.must(syscall.Kill(pid, signal), "signal OSD %d", number)
}

func deletedClaimLeaksNothing(t *test) {
	t.signalOSD(0, syscall.SIGSTOP)
	continued := false
	defer func() {
		if !continued {
			t.signalOSD(0, syscall.SIGCONT)
		}
	}()
	t.claim("data", "rbd-zones", "1Gi")
	t.pod("pod", inZone("zone-a"), "data")
	t.wait("the volume to be under way", func() error {
		text, err := os.ReadFile(t.logs + "/csi-provisioner-controller-1.log")
		if err == nil && !strings.Contains(string(text), "provisioning volume for claim \\\""+t.namespace+"/data") {
			err = fmt.Errorf("csi-provisioner has not begun")
		}
		return err
	})
	time.Sleep(3 * time.Second) // into the call, which waits for the OSD
	t.must(t.deleteAll(), "delete")
	t.wait("the claim to be gone", func() error {
		_, err := t.client.CoreV1().PersistentVolumeClaims(t.namespace).Get(background, "data", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
	t.signalOSD(0, syscall.SIGCONT)
	continued = true
	t.wait("nothing to be left, for ten seconds", func() error {
		for range 10 {
			if err := t.nothingIsLeft(); err != nil {
				return err
			}
			time.Sleep(time.Second)
		}
		return nil
	})
}
