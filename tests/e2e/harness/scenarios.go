package main

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var scenarios = []scenario{
	{"nodes register by our registrar, with their places", nodesAreRegistered},
	{"a volume is in the pool of its pod's zone (WaitForFirstConsumer)", volumeFollowsPod},
	{"an immediate volume is made at once and pinned to nothing", immediateIsNotPinned},
	{"an immediate volume is where the class allows it", immediateIsWhereAllowed},
	{"immediate volumes are spread, or pinned to their pool's zone, as the class says", immediateIsSpread},
	{"a zone that no pool serves gets its volumes from any pool, if the class says so", unservedZoneIsServed},
	{"allowedTopologies keep pods and volumes out of other zones", allowedTopologiesHold},
	{"a StatefulSet spreads over the zones, each volume in its zone's pool", statefulSetSpreads},
	{"a full zone is passed by the scheduler (CSIStorageCapacity)", fullZoneIsPassed},
	{"a refusal for lack of room reschedules the pod", refusalReschedules},
	{"a claim that is deleted while its volume is made leaks nothing", deletedClaimLeaksNothing},
	{"a snapshot is restored in its zone", snapshotIsRestored},
	{"the driver publishes room itself (--publish-capacity), and the scheduler heeds it", driverPublishesRoom},
	{"published room follows volumes and classes at once, and goes with the driver", publishedRoomIsFreshAndOwned},
	{"a CephFS volume is made and deleted", cephfsVolumeIsMade},
	{"the API server accepts what is in deploy/", manifestsAreAccepted},
	{"cephzone check finds every fault that was planted in the cluster", checkFindsFaults},
	{"a controller that is killed while volumes are made leaves each claim one volume", controllerIsKilledMidway},
	{"a failed zone is taken over, its writer fenced before the first label, and given back", zoneIsTakenOver},
	{"of two controllers one acts; when it is killed midway the other ends the takeover", leaderIsKilledMidway},
}

func (t *test) topologyKeys(node string) ([]string, error) {
	object, err := t.client.StorageV1().CSINodes().Get(background, node, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for _, driver := range object.Spec.Drivers {
		if driver.Name == driverName {
			return driver.TopologyKeys, nil
		}
	}
	return nil, fmt.Errorf("CSINode '%s' has no driver '%s'", node, driverName)
}

func nodesAreRegistered(t *test) {
	prefix := "topology." + driverName + "/"
	for _, place := range places {
		var keys []string
		t.wait("node '"+place.node+"' to be registered", func() (err error) {
			keys, err = t.topologyKeys(place.node)
			return err
		})
		want := map[string]string{prefix + "region": region, prefix + "zone": place.zone,
			prefix + "member.region." + region: "true", memberKey(place.zone): "true"}
		node, err := t.client.CoreV1().Nodes().Get(background, place.node, metav1.GetOptions{})
		t.must(err, "read node '%s'", place.node)
		for key, value := range want {
			if node.Labels[key] != value || !slices.Contains(keys, key) {
				t.fail("node '%s' should have %s=%s; it has keys %v and labels %v", place.node, key, value, keys, node.Labels)
			}
		}
		if len(keys) != len(want) {
			t.fail("node '%s' has further keys: %v", place.node, keys)
		}
	}
}
