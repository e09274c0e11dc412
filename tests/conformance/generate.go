package main

import (
	"fmt"
	"math/rand"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A cluster made of few names and small figures, so that what it has in it meets: claims share
// volumes, pods share claims, sizes are equal, limits are reached.
type generator struct {
	*rand.Rand
	objects []any
	claims  []*corev1.PersistentVolumeClaim
	volumes []string
	nodes   []string
	pending []*corev1.Pod
}

const (
	rbd  = "rbd.csi.ceph.com"
	nfs  = "nfs.csi.k8s.io"
	ebs  = "ebs.csi.aws.com"
	host = corev1.LabelHostname
	zone = corev1.LabelTopologyZone
)

var (
	namespaces  = []string{"shop", "bank"}
	classes     = []string{"rbd", "now", "local", "ebs", "old", "gone"}
	sizes       = []string{"1Gi", "2Gi", "2Gi", "3Gi", "5G", "1500M", "10Gi"}
	zones       = []string{"a", "b", "c"}
	labelKeys   = []string{zone, zone, host, corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyRegion, "topology.ebs.csi.aws.com/zone", "rack"}
	topologies  = []string{zone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion}
	accessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod}
)

func (g *generator) chance(percent int) bool { return g.Intn(100) < percent }

func pick[T any](g *generator, from []T) T { return from[g.Intn(len(from))] }

func pointer[T any](value T) *T { return &value }

func (g *generator) size() resource.Quantity { return resource.MustParse(pick(g, sizes)) }

func (g *generator) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name), ResourceVersion: "1"}
}

func (g *generator) add(object any) { g.objects = append(g.objects, object) }

func generate(seed int64) *generator {
	g := &generator{Rand: rand.New(rand.NewSource(seed))}
	g.makeNodes()
	g.makeClasses()
	g.makeClaims()
	g.makeVolumes()
	g.makeCapacities()
	g.makePods()
	g.makeAttachments()
	return g
}

// --- nodes ---

func (g *generator) makeNodes() {
	count := 2 + g.Intn(8)
	for i := range count {
		node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: g.meta("", fmt.Sprintf("n%d", i))}
		node.Labels = map[string]string{host: node.Name}
		for _, key := range append([]string{"topology.ebs.csi.aws.com/zone", "rack"}, topologies...) {
			if g.chance(55) {
				node.Labels[key] = pick(g, zones)
			}
		}
		if g.chance(5) {
			node.Labels = nil
		}
		node.Spec.Unschedulable = g.chance(4)
		if g.chance(8) {
			node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: pick(g, zones), Effect: pick(g, []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule})}}
		}
		g.nodes = append(g.nodes, node.Name)
		g.add(node)
		if g.chance(85) {
			g.add(g.csiNode(node.Name))
		}
	}
}

func (g *generator) csiNode(name string) *storagev1.CSINode {
	node := &storagev1.CSINode{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"}, ObjectMeta: g.meta("", name)}
	for _, driver := range []string{rbd, ebs, nfs, "pd.csi.storage.gke.io"} {
		if !g.chance(75) {
			continue
		}
		entry := storagev1.CSINodeDriver{Name: driver, NodeID: name, TopologyKeys: []string{zone}}
		if g.chance(70) {
			entry.Allocatable = &storagev1.VolumeNodeResources{Count: pointer(int32(g.Intn(6)))}
		} else if g.chance(20) {
			entry.Allocatable = &storagev1.VolumeNodeResources{}
		}
		node.Spec.Drivers = append(node.Spec.Drivers, entry)
	}
	if g.chance(40) {
		node.Annotations = map[string]string{corev1.MigratedPluginsAnnotationKey: pick(g, []string{
			"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd,kubernetes.io/aws-ebs", "kubernetes.io/portworx-volume", "kubernetes.io/aws-ebs2", ""})}
	}
	return node
}

// --- classes and capacities ---

func (g *generator) makeClasses() {
	provisioners := map[string]string{"rbd": rbd, "now": rbd, "local": "kubernetes.io/no-provisioner", "ebs": "kubernetes.io/aws-ebs", "old": nfs}
	for _, name := range classes {
		if provisioners[name] == "" || g.chance(5) {
			continue
		}
		class := &storagev1.StorageClass{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"}, ObjectMeta: g.meta("", name), Provisioner: provisioners[name]}
		class.VolumeBindingMode = pointer(storagev1.VolumeBindingWaitForFirstConsumer)
		if name == "now" {
			class.VolumeBindingMode = pointer(storagev1.VolumeBindingImmediate)
		}
		if g.chance(2) {
			class.VolumeBindingMode = nil
		}
		for range g.Intn(3) {
			if g.chance(35) {
				class.AllowedTopologies = append(class.AllowedTopologies, g.allowedTopology())
			}
		}
		g.add(class)
	}
	for _, name := range []string{rbd, nfs, ebs} {
		if g.chance(80) {
			driver := &storagev1.CSIDriver{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"}, ObjectMeta: g.meta("", name)}
			if g.chance(80) {
				driver.Spec.StorageCapacity = pointer(g.chance(60))
			}
			g.add(driver)
		}
	}
}

func (g *generator) allowedTopology() corev1.TopologySelectorTerm {
	var term corev1.TopologySelectorTerm
	for range g.Intn(3) {
		values := []string{pick(g, zones)}
		if g.chance(50) {
			values = append(values, pick(g, zones))
		}
		term.MatchLabelExpressions = append(term.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{Key: pick(g, labelKeys), Values: values})
	}
	return term
}

func (g *generator) labelSelector() *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	if g.chance(60) {
		selector.MatchLabels = map[string]string{pick(g, labelKeys): pick(g, zones)}
	}
	for range g.Intn(3) {
		if !g.chance(40) {
			continue
		}
		requirement := metav1.LabelSelectorRequirement{Key: pick(g, labelKeys), Operator: pick(g, []metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist})}
		if requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpNotIn {
			requirement.Values = []string{pick(g, zones), pick(g, zones)}
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return selector
}

func (g *generator) makeCapacities() {
	for i := range g.Intn(9) {
		capacity := &storagev1.CSIStorageCapacity{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIStorageCapacity"},
			ObjectMeta: g.meta(pick(g, namespaces), fmt.Sprintf("capacity-%d", i)), StorageClassName: pick(g, classes)}
		if g.chance(90) {
			capacity.NodeTopology = g.labelSelector()
		}
		if g.chance(85) {
			capacity.Capacity = pointer(g.size())
		}
		if g.chance(25) {
			capacity.MaximumVolumeSize = pointer(g.size())
		}
		g.add(capacity)
	}
}

// --- claims and volumes ---

func (g *generator) modes() []corev1.PersistentVolumeAccessMode {
	modes := []corev1.PersistentVolumeAccessMode{pick(g, accessModes)}
	if g.chance(30) {
		modes = append(modes, pick(g, accessModes))
	}
	return modes
}

func (g *generator) volumeMode() *corev1.PersistentVolumeMode {
	if g.chance(70) {
		return nil
	}
	return pointer(pick(g, []corev1.PersistentVolumeMode{corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock}))
}

// Class by field, by the old annotation, or by both.
func (g *generator) classOf(meta *metav1.ObjectMeta) string {
	class := pick(g, classes)
	if g.chance(7) {
		meta.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: pick(g, append(classes, ""))}
	}
	return class
}

func (g *generator) annotate(meta *metav1.ObjectMeta, key, value string) {
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[key] = value
}

func (g *generator) makeClaims() {
	for _, namespace := range namespaces {
		for i := range 7 {
			if g.chance(4) {
				continue
			}
			g.makeClaim(namespace, fmt.Sprintf("c%d", i))
		}
	}
}

func (g *generator) makeClaim(namespace, name string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: g.meta(namespace, name)}
	class := g.classOf(&claim.ObjectMeta)
	if g.chance(96) {
		claim.Spec.StorageClassName = &class
	}
	claim.Spec.AccessModes = g.modes()
	claim.Spec.VolumeMode = g.volumeMode()
	if g.chance(97) {
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: g.size()}
	}
	if g.chance(10) {
		claim.Spec.Selector = g.labelSelector()
	}
	if g.chance(6) {
		claim.Spec.VolumeAttributesClassName = pointer(pick(g, []string{"gold", "silver", ""}))
	}
	claim.Status.Phase = corev1.ClaimPending
	if g.chance(45) {
		claim.Spec.VolumeName = fmt.Sprintf("v%d", g.Intn(14))
		claim.Status.Phase = pick(g, []corev1.PersistentVolumeClaimPhase{corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimPending})
		if g.chance(92) {
			g.annotate(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
		}
		if g.chance(2) {
			claim.Status.Phase = corev1.ClaimLost
		}
	} else if g.chance(12) {
		g.annotate(&claim.ObjectMeta, "volume.kubernetes.io/selected-node", pick(g, append(g.nodes, "gone")))
	}
	if g.chance(1) {
		claim.DeletionTimestamp = &metav1.Time{Time: metav1.Unix(1700000000, 0).Time}
		claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
	}
	g.claims = append(g.claims, claim)
	g.add(claim)
	return claim
}

func (g *generator) nodeSelectorTerms() []corev1.NodeSelectorTerm {
	var terms []corev1.NodeSelectorTerm
	for range 1 + g.Intn(2) {
		var term corev1.NodeSelectorTerm
		for range 1 + g.Intn(2) {
			requirement := corev1.NodeSelectorRequirement{Key: pick(g, labelKeys), Operator: pick(g, []corev1.NodeSelectorOperator{
				corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist})}
			if requirement.Operator == corev1.NodeSelectorOpIn || requirement.Operator == corev1.NodeSelectorOpNotIn {
				from := zones
				if requirement.Key == host {
					from = g.nodes
				}
				requirement.Values = []string{pick(g, from), pick(g, from)}
			}
			term.MatchExpressions = append(term.MatchExpressions, requirement)
		}
		if g.chance(3) {
			term.MatchExpressions = nil
		}
		terms = append(terms, term)
	}
	return terms
}

func (g *generator) volumeSource(name string) corev1.PersistentVolumeSource {
	switch g.Intn(8) {
	case 0:
		return corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt"}}
	case 1:
		return corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(g, []string{"vol-" + name, "aws://a/vol-" + name, "aws://a/b/vol-" + name, "aws://" + name})}}
	case 2:
		return corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{CephMonitors: []string{"m"}, RBDImage: name}}
	case 3:
		return corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: name}}
	}
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: pick(g, []string{rbd, rbd, nfs, ebs}), VolumeHandle: pick(g, []string{name, name, name, "vol-v1", "shared"})}}
}

func (g *generator) makeVolumes() {
	for i := range 14 {
		if !g.chance(85) {
			continue
		}
		volume := &corev1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: g.meta("", fmt.Sprintf("v%d", i))}
		volume.Spec.StorageClassName = g.classOf(&volume.ObjectMeta)
		volume.Spec.AccessModes = append(g.modes(), g.modes()...)
		volume.Spec.VolumeMode = g.volumeMode()
		volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: g.size()}
		volume.Spec.PersistentVolumeSource = g.volumeSource(volume.Name)
		volume.Status.Phase = pick(g, []corev1.PersistentVolumePhase{corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeBound, corev1.VolumeReleased})
		if g.chance(65) {
			volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: g.nodeSelectorTerms()}}
		}
		for _, key := range append(topologies, "rack") {
			if g.chance(10) {
				volume.Labels = map[string]string{key: pick(g, []string{"a", "b", "a__b", "a__c", "b__", "x-y-a__x-y-b", "x-z-a__x-y-b"})}
			}
		}
		if g.chance(5) {
			volume.Spec.VolumeAttributesClassName = pointer(pick(g, []string{"gold", "silver"}))
		}
		if g.chance(25) {
			claim := pick(g, g.claims)
			volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: pick(g, []types.UID{claim.UID, "", "another"})}
		}
		if g.chance(2) {
			volume.DeletionTimestamp = &metav1.Time{Time: metav1.Unix(1700000000, 0).Time}
			volume.Finalizers = []string{"kubernetes.io/pv-protection"}
		}
		g.volumes = append(g.volumes, volume.Name)
		g.add(volume)
	}
}

func (g *generator) makeAttachments() {
	for i := range g.Intn(12) {
		attachment := &storagev1.VolumeAttachment{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "VolumeAttachment"}, ObjectMeta: g.meta("", fmt.Sprintf("attachment-%d", i))}
		attachment.Spec = storagev1.VolumeAttachmentSpec{Attacher: pick(g, []string{rbd, rbd, nfs, ebs}), NodeName: pick(g, g.nodes)}
		if g.chance(95) {
			attachment.Spec.Source.PersistentVolumeName = pointer(pick(g, append(g.volumes, "gone")))
		}
		g.add(attachment)
	}
}
