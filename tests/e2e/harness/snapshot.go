package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var snapshotKind = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}
var contentKind = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshotcontents"}

func (t *test) snapshot(name, claim string) {
	_, err := t.dynamic.Resource(snapshotKind).Namespace(t.namespace).Create(background, &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
			"metadata": map[string]any{"name": name},
			"spec": map[string]any{"volumeSnapshotClassName": "rbd-snapshots",
				"source": map[string]any{"persistentVolumeClaimName": claim}}}}, metav1.CreateOptions{})
	t.must(err, "create snapshot '%s'", name)
	t.wait("snapshot '"+name+"' to be ready", func() error {
		object, err := t.dynamic.Resource(snapshotKind).Namespace(t.namespace).Get(background, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ready, _, _ := unstructured.NestedBool(object.Object, "status", "readyToUse"); !ready {
			return fmt.Errorf("its status is %v", object.Object["status"])
		}
		return nil
	})
}

func snapshotIsRestored(t *test) {
	t.must(t.runSidecar("csi-snapshotter", "controller-1"), "start csi-snapshotter")
	defer func() { t.controllers["csi-snapshotter-controller-1"].stop() }()
	controller, err := t.start("snapshot-controller", launch{}, t.tool("snapshot-controller"),
		"--kubeconfig="+t.kubeconfig, "--leader-election=false", "--v=5")
	t.must(err, "start snapshot-controller")
	defer controller.stop()

	t.claim("data", "rbd-zones", "1Gi")
	t.pod("pod", inZone("zone-b"), "data")
	t.nodeOf("pod")
	t.snapshot("snap", "data")
	group, restored := snapshotKind.Group, claimSpec("rbd-zones", "2Gi")
	restored.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "VolumeSnapshot", Name: "snap"}
	t.createClaim(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "restored"}, Spec: restored})
	t.pod("reader", inZone("zone-b"), "restored")
	t.nodeOf("reader")
	t.mustBeIn(t.volumeOf("restored"), "zone-b")
	t.must(t.deleteAll(), "delete")
	t.must(t.dynamic.Resource(snapshotKind).Namespace(t.namespace).Delete(background, "snap", metav1.DeleteOptions{}),
		"delete the snapshot")
	t.wait("the snapshot to be gone", func() error {
		contents, err := t.dynamic.Resource(contentKind).List(background, metav1.ListOptions{})
		if err == nil && len(contents.Items) > 0 {
			err = fmt.Errorf("there are %d contents", len(contents.Items))
		}
		if err != nil {
			return err
		}
		return t.nothingIsLeft()
	})
}
