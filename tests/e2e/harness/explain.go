package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What 'cephzone explain -o json' says of a pod.
type explanation struct {
	Headline   string `json:"headline"`
	Kubernetes string `json:"kubernetes"`
	Fitting    int    `json:"fitting"`
	Nodes      []struct {
		Node   string `json:"node"`
		Fits   bool   `json:"fits"`
		Reason string `json:"reason"`
	} `json:"nodes"`
}

// Asks the live cluster.
func (t *test) explain(pod string) (*explanation, error) {
	cmd := exec.Command("timeout", "60", t.build+"/cephzone", "explain", "pod", pod, "-n", t.namespace,
		"--kubeconfig="+t.kubeconfig, "--kubernetes-version=1.36", "-o", "json")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
		return nil, fmt.Errorf("cephzone explain: %w: %s", err, out)
	}
	e := &explanation{}
	if err := json.Unmarshal(out, e); err != nil {
		return nil, fmt.Errorf("cephzone explain: %w: %s", err, out)
	}
	return e, nil
}

// The part of the scheduler's message that counts nodes; what follows is about preemption, which
// explain does not look at.
func verdict(message string) string {
	for _, end := range []string{" preemption:", " no new claims to deallocate"} {
		if i := strings.Index(message, end); i >= 0 {
			message = message[:i]
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(message), "."), ",")
}

// Waits until the scheduler says @reason, and cephzone explain the same, word for word.
func (t *test) mustStayPending(pod, reason string) {
	t.wait("the scheduler to say '"+reason+"', and explain to agree", func() error {
		object, err := t.getPod(pod)
		if err != nil {
			return err
		}
		said := scheduling(object)
		if object.Status.Phase != corev1.PodPending || object.Spec.NodeName != "" || !strings.Contains(said, reason) {
			return fmt.Errorf("the pod is %s: %s", object.Status.Phase, said)
		}
		e, err := t.explain(pod)
		if err != nil {
			return err
		}
		if e.Fitting != 0 || verdict(e.Kubernetes) != verdict(said) {
			return fmt.Errorf("kube-scheduler says '%s', cephzone explain '%s' (%s)", verdict(said),
				verdict(e.Kubernetes), e.Headline)
		}
		return nil
	})
}

// A pod that runs runs on a node of which explain says that it fits.
func (t *test) explainAgreesWith(pod string, node *kubelet) {
	e, err := t.explain(pod)
	t.must(err, "explain '%s'", pod)
	for _, row := range e.Nodes {
		if row.Node == node.name && row.Fits {
			return
		}
	}
	t.fail("pod '%s' runs on '%s', explain says: %+v", pod, node.name, *e)
}
