package main

import (
	"context"
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// The scheduler's plugins that the library has the rules of, in the scheduler's order.
var compared = []string{
	names.NodeUnschedulable, names.TaintToleration, names.NodeAffinity,
	names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone,
}

// The library has one name for what concerns the pod itself.
func nameInLibrary(plugin string) string {
	switch plugin {
	case names.NodeUnschedulable, names.TaintToleration, names.NodeAffinity:
		return "Placement"
	}
	return plugin
}

// What one side says of one pod on one node.
type verdict struct {
	Node    string   `json:"node"`
	Plugin  string   `json:"plugin"` // that rejects; "" if the pod fits
	Error   bool     `json:"error"`  // the scheduler tries again, whatever happens
	Reasons []string `json:"reasons"`
}

func (v verdict) String() string {
	switch {
	case v.Plugin == "":
		return "fits"
	case v.Error:
		return v.Plugin + ": error: " + strings.Join(v.Reasons, "; ")
	}
	return v.Plugin + ": " + strings.Join(v.Reasons, "; ")
}

// The real plugins, with the objects of one cluster.
type scheduler struct {
	framework framework.Framework
	snapshot  *cache.Snapshot
	nodes     []string
}

func profile() (*config.KubeSchedulerProfile, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := defaults.Profiles[0].DeepCopy()
	profile.Plugins = &config.Plugins{
		QueueSort: config.PluginSet{Enabled: []config.Plugin{{Name: names.PrioritySort}}},
		Bind:      config.PluginSet{Enabled: []config.Plugin{{Name: names.DefaultBinder}}},
	}
	withPreFilter := map[string]bool{
		names.NodeAffinity: true, names.VolumeRestrictions: true, names.NodeVolumeLimits: true,
		names.VolumeBinding: true, names.VolumeZone: true,
	}
	for _, name := range compared {
		profile.Plugins.Filter.Enabled = append(profile.Plugins.Filter.Enabled, config.Plugin{Name: name})
		if withPreFilter[name] {
			profile.Plugins.PreFilter.Enabled = append(profile.Plugins.PreFilter.Enabled, config.Plugin{Name: name})
		}
	}
	return profile, nil
}

// Informers are filled by hand and never run: the plugins read their stores.
func fill(factory informers.SharedInformerFactory, objects []any) error {
	for _, object := range objects {
		var err error
		switch object.(type) {
		case *corev1.Node:
			err = factory.Core().V1().Nodes().Informer().GetIndexer().Add(object)
		case *corev1.PersistentVolume:
			err = factory.Core().V1().PersistentVolumes().Informer().GetIndexer().Add(object)
		case *corev1.PersistentVolumeClaim:
			err = factory.Core().V1().PersistentVolumeClaims().Informer().GetIndexer().Add(object)
		case *corev1.Pod:
			err = factory.Core().V1().Pods().Informer().GetIndexer().Add(object)
		case *storagev1.StorageClass:
			err = factory.Storage().V1().StorageClasses().Informer().GetIndexer().Add(object)
		case *storagev1.CSIDriver:
			err = factory.Storage().V1().CSIDrivers().Informer().GetIndexer().Add(object)
		case *storagev1.CSINode:
			err = factory.Storage().V1().CSINodes().Informer().GetIndexer().Add(object)
		case *storagev1.CSIStorageCapacity:
			err = factory.Storage().V1().CSIStorageCapacities().Informer().GetIndexer().Add(object)
		case *storagev1.VolumeAttachment:
			err = factory.Storage().V1().VolumeAttachments().Informer().GetIndexer().Add(object)
		default:
			err = fmt.Errorf("no informer for %T", object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Pods that have ended are none of the scheduler's: its informer does not select them.
func placedPods(objects []any) (pods []*corev1.Pod, nodes []*corev1.Node) {
	for _, object := range objects {
		switch object := object.(type) {
		case *corev1.Node:
			nodes = append(nodes, object)
		case *corev1.Pod:
			ended := object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed
			if object.Spec.NodeName != "" && !ended {
				pods = append(pods, object)
			}
		}
	}
	return pods, nodes
}

func newScheduler(ctx context.Context, objects []any) (*scheduler, error) {
	metrics.Register()
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, nodes := placedPods(objects)
	s := &scheduler{snapshot: cache.NewSnapshot(pods, nodes)}
	profile, err := profile()
	if err != nil {
		return nil, err
	}
	s.framework, err = runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		runtime.WithClientSet(client), runtime.WithInformerFactory(factory),
		runtime.WithSnapshotSharedLister(s.snapshot),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())))
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		s.nodes = append(s.nodes, node.Name)
	}
	sort.Strings(s.nodes)
	return s, fill(factory, objects)
}

func verdictOf(node string, status *fwk.Status) verdict {
	if status.IsSuccess() {
		return verdict{Node: node}
	}
	return verdict{Node: node, Plugin: status.Plugin(), Error: !status.IsRejected(), Reasons: status.Reasons()}
}

// One verdict per node, by name: PreFilter, then Filter for every node, as in a scheduling cycle.
func (s *scheduler) check(ctx context.Context, pod *corev1.Pod) ([]verdict, error) {
	state := framework.NewCycleState()
	result, rejection, _ := s.framework.RunPreFilterPlugins(ctx, state, pod)
	verdicts := make([]verdict, 0, len(s.nodes))
	for _, name := range s.nodes {
		switch {
		case !rejection.IsSuccess():
			verdicts = append(verdicts, verdictOf(name, rejection))
		case !result.AllNodes() && !result.NodeNames.Has(name):
			// a pod whose affinity names its nodes: the others are not even looked at
			verdicts = append(verdicts, verdict{Node: name, Plugin: names.NodeAffinity, Reasons: []string{notLookedAt}})
		default:
			info, err := s.snapshot.NodeInfos().Get(name)
			if err != nil {
				return nil, err
			}
			verdicts = append(verdicts, verdictOf(name, s.framework.RunFilterPlugins(ctx, state, pod, info)))
		}
	}
	return verdicts, nil
}

const notLookedAt = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
