package main

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is in deploy/, and what only the deployment decides.

func manifestsAreAccepted(t *test) {
	for _, name := range []string{"rook-ceph", "ceph-csi-operator-system"} {
		_, err := t.client.CoreV1().Namespaces().Create(background,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		t.must(err, "create namespace '%s'", name)
	}
	for _, arguments := range [][]string{
		{"-k", "deploy/kustomize/overlays/rbd"},
		{"-k", "deploy/kustomize/overlays/cephfs"},
		{"-k", "deploy/kustomize/overlays/three-zones"},
		{"-f", "deploy/examples/pod.yaml"},
		{"-f", "deploy/examples/secrets.yaml"},
		{"-f", "deploy/operator/image-set.yaml"},
		{"-f", "deploy/rook/image-set-1.20.yaml"},
		{"-f", "deploy/rook/image-1.14-1.19.yaml"},
	} {
		_, err := t.kubectl(append([]string{"apply", "--dry-run=server", "--validate=strict", "--warnings-as-errors"},
			arguments...)...)
		t.must(err, "apply %s", arguments[1])
	}
}

// From here on the driver publishes the room, and csi-provisioner does not; what it returns ends that.
func (t *test) letDriverPublish() func() {
	deleteAll := func() error {
		return t.client.StorageV1().CSIStorageCapacities(namespace).DeleteCollection(background,
			metav1.DeleteOptions{}, metav1.ListOptions{})
	}
	t.restartProvisioner("--enable-capacity=false")
	t.must(deleteAll(), "delete capacities")
	t.must(t.restartController("--publish-capacity"), "restart the controller")
	return func() {
		_ = t.restartController()
		_ = deleteAll()
		t.restartProvisioner()
	}
}

// The driver publishes the room itself, where csi-provisioner does not.
func driverPublishesRoom(t *test) {
	defer t.letDriverPublish()()
	t.wait("our objects", func() error {
		_, manager, err := t.publishedRoom("rbd-zones", "zone-b")
		if err == nil && manager != "cephzone" {
			err = fmt.Errorf("they are managed by '%s'", manager)
		}
		return err
	})
	t.must(t.ceph.setQuota("zone-b", gib), "set quota")
	defer func() { _ = t.ceph.setQuota("zone-b", 0) }()
	t.waitForRoom("rbd-zones", "zone-b", 5*gib, false)
	t.claim("data", "rbd-zones", "5Gi")
	t.podPreferring("pod", "zone-b", "data")
	if node := t.nodeOf("pod"); node.zone == "zone-b" {
		t.fail("the pod is in the full zone")
	}
	t.claim("stuck", "rbd-zones", "5Gi")
	t.pod("pod-b", inZone("zone-b"), "stuck")
	t.mustStayPending("pod-b", "node(s) did not have enough free storage")
}

// Published room follows volumes and classes without waiting for the interval of a minute, and goes
// with the driver.
func publishedRoomIsFreshAndOwned(t *test) {
	defer t.letDriverPublish()()
	t.wait("our objects", func() error {
		_, _, err := t.publishedRoom("rbd-zones", "zone-a")
		return err
	})
	began := time.Now()
	t.classLike("rbd-zones", "strict", func(class *storagev1.StorageClass) {
		class.Parameters["overcommit"] = "1"
	})
	defer t.deleteClass("strict")
	var before int64
	t.wait("the room of a new class", func() (err error) {
		before, _, err = t.publishedRoom("strict", "zone-a")
		return err
	})
	t.tell("a new class had its room after %d ms", time.Since(began).Milliseconds())

	t.claim("data", "strict", "5Gi")
	t.pod("pod", inZone("zone-a"), "data")
	t.volumeOf("data")
	began = time.Now()
	t.waitForRoom("strict", "zone-a", before-5*gib+1, false)
	t.tell("a volume was counted %d ms after it was bound", time.Since(began).Milliseconds())
	t.must(t.deleteAll(), "delete")
	t.waitForRoom("strict", "zone-a", before, true)

	t.uninstallDriverObject()
}

// Without the CSIDriver nothing is left; with a new one everything is published again.
func (t *test) uninstallDriverObject() {
	drivers := t.client.StorageV1().CSIDrivers()
	driver, err := drivers.Get(background, driverName, metav1.GetOptions{})
	t.must(err, "read the CSIDriver")
	t.must(drivers.Delete(background, driverName, metav1.DeleteOptions{}), "delete the CSIDriver")
	t.wait("all objects to be collected", func() error {
		list, err := t.client.StorageV1().CSIStorageCapacities(namespace).List(background, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d are there", len(list.Items))
		}
		return err
	})
	driver.ObjectMeta = metav1.ObjectMeta{Name: driver.Name, Labels: driver.Labels}
	_, err = drivers.Create(background, driver, metav1.CreateOptions{})
	t.must(err, "create the CSIDriver again")
	t.wait("our objects to be there again", func() error {
		_, _, err := t.publishedRoom("rbd-zones", "zone-a")
		return err
	})
}

// With the sidecar that hangs on it.
func (t *test) restartController(extra ...string) error {
	t.controllers["controller-1"].stop()
	if err := t.runController("controller-1", "c1", extra...); err != nil {
		return err
	}
	t.controllers["csi-provisioner-controller-1"].stop()
	return t.runProvisioner("controller-1", "--enable-capacity=false")
}

func cephfsVolumeIsMade(t *test) {
	_, err := t.kubectl("apply", "-k", "deploy/kustomize/overlays/cephfs")
	t.must(err, "install the CephFS driver")
	t.must(t.startCephFS(), "start the CephFS driver")
	defer func() {
		t.controllers["csi-provisioner-cephfs"].stop()
		t.controllers["cephfs"].stop()
	}()
	t.claim("shared", "cephfs", "1Gi")
	pv := t.volumeOf("shared")
	subvolumes, err := t.ceph.run("fs", "subvolume", "ls", "cephfs", "csi")
	t.must(err, "list subvolumes")
	if !strings.Contains(subvolumes, uuidOf(pv)) {
		t.fail("no subvolume of '%s' among %s", pv.Spec.CSI.VolumeHandle, subvolumes)
	}
	if pins(pv) != nil {
		t.fail("the volume is pinned to %v", pins(pv))
	}
	t.must(t.deleteAll(), "delete")
	t.wait("the subvolume to be gone", func() error {
		out, err := t.ceph.run("fs", "subvolume", "ls", "cephfs", "csi")
		if err == nil && strings.Contains(out, uuidOf(pv)) {
			err = fmt.Errorf("it is there")
		}
		return err
	})
}
