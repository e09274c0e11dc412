package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// The half of the test kubelet that knows of plugins. What kubelet does with inotify is done by
// looking: a socket that is new, or another one than before under its name, is registered; one that
// is gone, or was replaced, is deregistered first.

func (k *kubelet) registry() string {
	return filepath.Join(k.dir, "plugins_registry")
}

// The sockets in the registry by their path, each with the number of its inode.
func (k *kubelet) sockets() map[string]uint64 {
	found := map[string]uint64{}
	entries, _ := os.ReadDir(k.registry())
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || entry.Type()&os.ModeSocket == 0 {
			continue
		}
		if info, err := entry.Info(); err == nil {
			found[filepath.Join(k.registry(), entry.Name())] = info.Sys().(*syscall.Stat_t).Ino
		}
	}
	return found
}

func (k *kubelet) syncPlugins() {
	found := k.sockets()
	for path, plugin := range k.plugins {
		if found[path] != plugin.inode {
			k.note("deregister %s: %v", plugin.driver, k.deregister(plugin.driver))
			delete(k.plugins, path)
		}
	}
	for path, inode := range found {
		if _, known := k.plugins[path]; known {
			continue
		}
		driver, err := k.register(path)
		k.note("register %s: %v", path, err)
		if err == nil {
			k.plugins[path] = plugin{driver, inode}
		}
	}
}

func dial(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// GetInfo, NodeGetInfo, Node and CSINode, and the plugin is told how it went.
func (k *kubelet) register(socket string) (string, error) {
	connection, err := dial(socket)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	client := registration.NewRegistrationClient(connection)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	info, err := client.GetInfo(ctx, &registration.InfoRequest{})
	if err != nil {
		return "", fmt.Errorf("GetInfo: %w", err)
	}
	status := &registration.RegistrationStatus{PluginRegistered: true}
	failure := k.install(ctx, info)
	if failure != nil {
		status = &registration.RegistrationStatus{Error: "RegisterPlugin error -- " + failure.Error()}
		_ = k.deregister(info.Name)
	}
	if _, err := client.NotifyRegistrationStatus(ctx, status); err != nil && failure == nil {
		_ = k.deregister(info.Name)
		return "", fmt.Errorf("NotifyRegistrationStatus: %w", err)
	}
	return info.Name, failure
}

func (k *kubelet) install(ctx context.Context, info *registration.PluginInfo) error {
	if info.Type != registration.CSIPlugin {
		return fmt.Errorf("plugin of type '%s'", info.Type)
	}
	if !slices.ContainsFunc(info.SupportedVersions, func(v string) bool { return strings.HasPrefix(v, "1.") }) {
		return fmt.Errorf("no version that is supported: %v", info.SupportedVersions)
	}
	connection, err := dial(info.Endpoint)
	if err != nil {
		return err
	}
	defer connection.Close()
	node, err := csi.NewNodeClient(connection).NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
	if err != nil {
		return fmt.Errorf("NodeGetInfo: %w", err)
	}
	if node.NodeId == "" {
		return fmt.Errorf("driverNodeID must not be empty")
	}
	if err := k.labelNode(ctx, node.GetAccessibleTopology().GetSegments()); err != nil {
		return err
	}
	return k.enterDriver(ctx, info.Name, node)
}

// A label that is there with another value is a collision; labels are only ever added.
func (k *kubelet) labelNode(ctx context.Context, segments map[string]string) error {
	nodes := k.client.CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, k.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for key, value := range segments {
			if old, there := node.Labels[key]; there && old != value {
				return fmt.Errorf("detected topology value collision: driver reported %q:%q but "+
					"existing label is %q:%q", key, value, key, old)
			}
			node.Labels[key] = value
		}
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

func (k *kubelet) enterDriver(ctx context.Context, driver string, info *csi.NodeGetInfoResponse) error {
	entry := storagev1.CSINodeDriver{Name: driver, NodeID: info.NodeId}
	for key := range info.GetAccessibleTopology().GetSegments() {
		entry.TopologyKeys = append(entry.TopologyKeys, key)
	}
	slices.Sort(entry.TopologyKeys)
	if limit := int32(info.MaxVolumesPerNode); limit > 0 {
		entry.Allocatable = &storagev1.VolumeNodeResources{Count: &limit}
	}
	return k.changeDrivers(ctx, func(drivers []storagev1.CSINodeDriver) []storagev1.CSINodeDriver {
		return append(withoutDriver(drivers, driver), entry)
	})
}

// Labels stay on the Node, as with kubelet.
func (k *kubelet) deregister(driver string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return k.changeDrivers(ctx, func(drivers []storagev1.CSINodeDriver) []storagev1.CSINodeDriver {
		return withoutDriver(drivers, driver)
	})
}

func withoutDriver(drivers []storagev1.CSINodeDriver, name string) []storagev1.CSINodeDriver {
	return slices.DeleteFunc(drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == name })
}

func (k *kubelet) changeDrivers(ctx context.Context,
	change func([]storagev1.CSINodeDriver) []storagev1.CSINodeDriver) error {
	objects := k.client.StorageV1().CSINodes()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := objects.Get(ctx, k.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			object = &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: k.name,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: k.name, UID: k.uid}}}}
			object.Spec.Drivers = change(nil)
			_, err = objects.Create(ctx, object, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		object.Spec.Drivers = change(object.Spec.Drivers)
		_, err = objects.Update(ctx, object, metav1.UpdateOptions{})
		return err
	})
}
