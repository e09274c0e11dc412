// Command harness runs the scenarios of tests/e2e: a real control plane, csi-provisioner and Ceph,
// our driver, and nodes that are simulated. README.md tells how it works.
package main

import (
	"fmt"
	"os"
	"regexp"
	"time"
)

type scenario struct {
	name string // a sentence
	run  func(t *test)
}

// Runs a scenario and what must hold after each: nothing is left in Kubernetes or in Ceph.
func (s *scenario) outcome(c *cluster, number int) (failed *failure) {
	t := &test{cluster: c, namespace: fmt.Sprintf("scenario-%d", number)}
	defer func() {
		if reason := recover(); reason != nil {
			f, ours := reason.(failure)
			if !ours {
				panic(reason)
			}
			t.printState()
			failed = &f
			t.tryCleanUp()
		}
	}()
	t.createNamespace()
	s.run(t)
	t.cleanUp()
	return nil
}

func setUp(c *cluster) error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"the control plane", c.startControlPlane},
		{"the nodes", c.startNodes},
		{"the driver's objects", c.install},
		{"the node plugins", c.startNodePlugins},
		{"the controller", func() error { return c.runController("controller-1", "c1") }},
		{"csi-provisioner", func() error { return c.runProvisioner("controller-1") }},
	}
	for _, step := range steps {
		began := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Printf("e2e: started %s (%.1f s)\n", step.what, time.Since(began).Seconds())
	}
	go c.attach()
	return nil
}

func main() {
	c, err := newCluster()
	if err == nil {
		err = setUp(c)
	}
	if err != nil {
		fmt.Println("FAILED  set-up:", err)
		fmt.Println("0 passed, 1 failed, 0 skipped")
		os.Exit(1)
	}
	only := regexp.MustCompile(os.Getenv("E2E_ONLY"))
	passed, failed := 0, 0
	for number, s := range scenarios {
		if !only.MatchString(s.name) {
			continue
		}
		began := time.Now()
		if failure := s.outcome(c, number); failure != nil {
			failed++
			fmt.Printf("FAILED  %s (%.1f s)\n        %s\n", s.name, time.Since(began).Seconds(), *failure)
			continue
		}
		passed++
		fmt.Printf("ok      %s (%.1f s)\n", s.name, time.Since(began).Seconds())
	}
	fmt.Printf("%d passed, %d failed, 0 skipped\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
