package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The users of the drivers, with the rights that docs/install.md and docs/cephfs.md ask for.
var cephUsers = map[string][]string{
	"csi-rbd-provisioner": {"mon", `profile rbd, allow command "osd blocklist"`, "mgr", "allow rw", "osd", "profile rbd"},
	"csi-rbd-node":        {"mon", "profile rbd", "mgr", "allow rw", "osd", "profile rbd"},
	"csi-cephfs-provisioner": {"mon", "allow r", "mgr", "allow rw",
		"osd", "allow rw tag cephfs metadata=cephfs, allow rw tag cephfs data=cephfs"},
}

type ceph struct {
	conf     string
	monitors string
	keys     map[string]string // of the users
}

func (c *ceph) run(arguments ...string) (string, error) {
	return output(append([]string{"ceph", "-c", c.conf}, arguments...)...)
}

func (c *ceph) createUsers() error {
	c.keys = map[string]string{}
	for user, caps := range cephUsers {
		key, err := c.run(append([]string{"auth", "get-or-create-key", "client." + user}, caps...)...)
		if err != nil {
			return err
		}
		c.keys[user] = strings.TrimSpace(key)
	}
	return nil
}

func (c *ceph) images(pool string) ([]string, error) {
	var names []string
	out, err := output("rbd", "-c", c.conf, "ls", pool, "--format=json")
	if err != nil {
		return nil, err
	}
	return names, json.Unmarshal([]byte(out), &names)
}

// What is left of volumes: images and trash of all pools, and names in the journal.
func (c *ceph) leftovers() ([]string, error) {
	var found []string
	for _, pool := range []string{"common", "zone-a", "zone-b", "zone-c"} {
		images, err := c.images(pool)
		if err != nil {
			return nil, err
		}
		for _, image := range images {
			found = append(found, pool+"/"+image)
		}
		trash, err := output("rbd", "-c", c.conf, "trash", "ls", pool)
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(strings.TrimSpace(trash), "\n") {
			if line != "" {
				found = append(found, pool+" trash "+line)
			}
		}
		for _, object := range []string{"csi.volumes.default", "csi.snaps.default"} {
			out, err := output("rados", "-c", c.conf, "-p", pool, "listomapkeys", object)
			if err == nil && out != "" {
				found = append(found, pool+" journal "+strings.TrimSpace(out))
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

func (c *ceph) setQuota(pool string, bytes int64) error {
	_, err := c.run("osd", "pool", "set-quota", pool, "max_bytes", fmt.Sprint(bytes))
	return err
}

// Addresses that are blocklisted as a whole.
func (c *ceph) fenced() ([]string, error) {
	out, err := c.run("osd", "blocklist", "ls", "--format=json")
	if err != nil {
		return nil, err
	}
	var entries []struct {
		Addr string `json:"addr"`
	}
	// behind it comes a second list, of ranges
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&entries); err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if address, whole := strings.CutSuffix(entry.Addr, ":0/0"); whole {
			found = append(found, address)
		}
	}
	return found, nil
}
