package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (g *generator) makePods() {
	for i := range 6 + g.Intn(8) {
		pod := g.makePod(fmt.Sprintf("placed-%d", i))
		pod.Spec.NodeName = pick(g, g.nodes)
		pod.Status.Phase = corev1.PodRunning
		if g.chance(5) {
			pod.Status.Phase = pick(g, []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed})
		}
	}
	for i := range 8 {
		g.pending = append(g.pending, g.makePod(fmt.Sprintf("pod-%d", i)))
	}
}

func (g *generator) makePod(name string) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: g.meta(pick(g, namespaces), name)}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "main"}}
	pod.Status.Phase = corev1.PodPending
	for range pick(g, []int{0, 1, 1, 1, 2, 2, 3, 4}) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, g.podVolume(pod, fmt.Sprintf("w%d", len(pod.Spec.Volumes))))
	}
	if g.chance(10) {
		pod.Spec.NodeSelector = map[string]string{pick(g, labelKeys): pick(g, zones)}
	}
	if g.chance(8) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: g.nodeSelectorTerms()}}}
	}
	if g.chance(30) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: pick(g, []string{"dedicated", ""}), Operator: corev1.TolerationOpExists})
	}
	g.add(pod)
	return pod
}

func (g *generator) podVolume(pod *corev1.Pod, name string) corev1.Volume {
	volume := corev1.Volume{Name: name}
	switch g.Intn(24) {
	case 0:
		volume.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(g, []string{"vol-v1", "aws://a/vol-v1", "vol-v2"})}
	case 1:
		volume.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: pick(g, []string{"v1", "v2"}), ReadOnly: g.chance(50)}
	case 2:
		volume.RBD = &corev1.RBDVolumeSource{CephMonitors: pick(g, [][]string{{"m1", "m2"}, {"m2", "m3", "m4"}, {"m4"}}), RBDPool: pick(g, []string{"rbd", "kube"}), RBDImage: "disk", ReadOnly: g.chance(40)}
	case 3:
		volume.ISCSI = &corev1.ISCSIVolumeSource{TargetPortal: "t", IQN: pick(g, []string{"iqn-1", "iqn-2"}), Lun: int32(g.Intn(2)), ReadOnly: g.chance(50)}
	case 4:
		volume.CSI = &corev1.CSIVolumeSource{Driver: rbd}
	case 5:
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
	case 6, 7, 8:
		volume.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}
		if g.chance(96) {
			claim := g.makeClaim(pod.Namespace, pod.Name+"-"+name)
			if g.chance(95) {
				claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: pointer(true)}}
			}
		}
	default:
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("c%d", g.Intn(7))}
		if g.Intn(400) == 0 {
			volume.PersistentVolumeClaim.ClaimName = ""
		}
	}
	return volume
}
