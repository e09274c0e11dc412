package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Ports of the control plane, which has a network of its own: see tests/e2e/run.
const (
	etcdURL     = "http://127.0.0.1:2379"
	etcdPeerURL = "http://127.0.0.1:2380"
	serverPort  = "6443"
)

func (c *cluster) tool(name string) string {
	return filepath.Join(c.tools, name)
}

func (c *cluster) startEtcd() error {
	_, err := c.start("etcd", launch{}, "etcd", "--name=e2e", "--data-dir="+filepath.Join(c.dir, "etcd"),
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls="+etcdPeerURL, "--initial-advertise-peer-urls="+etcdPeerURL,
		"--initial-cluster=e2e="+etcdPeerURL,
		// nobody reads it after the test
		"--unsafe-no-fsync")
	return err
}

func (c *cluster) startServer() error {
	pki := c.pki.dir
	if _, _, err := c.pki.issue("server", "kube-apiserver", nil, net.ParseIP(c.address),
		net.ParseIP("127.0.0.1"), net.ParseIP("10.96.0.1")); err != nil {
		return err
	}
	if _, _, err := newKey(filepath.Join(pki, "accounts.key")); err != nil {
		return err
	}
	_, err := c.start("kube-apiserver", launch{}, c.tool("kube-apiserver"),
		"--etcd-servers="+etcdURL, "--bind-address="+c.address, "--advertise-address="+c.address,
		"--secure-port="+serverPort, "--service-cluster-ip-range=10.96.0.0/16",
		"--client-ca-file="+pki+"/ca.crt",
		"--tls-cert-file="+pki+"/server.crt", "--tls-private-key-file="+pki+"/server.key",
		"--service-account-issuer=https://e2e", "--service-account-key-file="+pki+"/accounts.key",
		"--service-account-signing-key-file="+pki+"/accounts.key",
		"--authorization-mode=RBAC", "--allow-privileged=true",
		// a pod leaves a node that is gone after seconds, not after five minutes
		"--default-not-ready-toleration-seconds=3", "--default-unreachable-toleration-seconds=3")
	return err
}

func (c *cluster) connect() error {
	path, err := c.pki.componentKubeconfig("admin", c.server, "admin", "system:masters")
	if err != nil {
		return err
	}
	c.kubeconfig = path
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.dynamic, err = dynamic.NewForConfig(config)
	return err
}

func (c *cluster) serverIsReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

func (c *cluster) startControllerManager() error {
	config, err := c.pki.componentKubeconfig("controller-manager", c.server, "system:kube-controller-manager")
	if err != nil {
		return err
	}
	_, err = c.start("kube-controller-manager", launch{}, c.tool("kube-controller-manager"),
		"--kubeconfig="+config, "--use-service-account-credentials=true", "--leader-elect=false",
		"--root-ca-file="+c.pki.dir+"/ca.crt",
		"--service-account-private-key-file="+c.pki.dir+"/accounts.key",
		"--bind-address=127.0.0.1",
		// a node that says nothing is seen after seconds
		"--node-monitor-period=1s", "--node-monitor-grace-period=10s")
	return err
}

func (c *cluster) startScheduler() error {
	config, err := c.pki.componentKubeconfig("scheduler", c.server, "system:kube-scheduler")
	if err != nil {
		return err
	}
	_, err = c.start("kube-scheduler", launch{}, c.tool("kube-scheduler"), "--kubeconfig="+config,
		"--authentication-kubeconfig="+config, "--authorization-kubeconfig="+config,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--v=4")
	return err
}

func (c *cluster) startControlPlane() (err error) {
	pki := filepath.Join(c.dir, "pki")
	if err := os.MkdirAll(pki, 0o700); err != nil {
		return err
	}
	if c.pki, err = newAuthority(pki); err != nil {
		return err
	}
	if err := c.startEtcd(); err != nil {
		return err
	}
	if err := c.startServer(); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := until(2*time.Minute, c.serverIsReady); err != nil {
		return fmt.Errorf("kube-apiserver is not ready: %w", err)
	}
	if err := c.startControllerManager(); err != nil {
		return err
	}
	return c.startScheduler()
}

// A kubeconfig with the token of a service account, as a pod of it would have.
func (c *cluster) accountKubeconfig(namespace, account string) (string, error) {
	seconds := int64(6 * 3600)
	token, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(context.Background(), account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of '%s': %w", account, err)
	}
	return c.pki.kubeconfig(account, c.server, &api.AuthInfo{Token: token.Status.Token})
}

func (c *cluster) kubectl(arguments ...string) (string, error) {
	return output(append([]string{c.tool("kubectl"), "--kubeconfig=" + c.kubeconfig}, arguments...)...)
}

// Repeats until there is no error or the time is up; then gives the last one.
func until(limit time.Duration, attempt func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := attempt()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}
