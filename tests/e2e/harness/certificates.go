package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// The authority of the test's cluster. It signs the server's certificate, those of the components
// (by their Kubernetes names) and the tokens of service accounts.
type authority struct {
	dir         string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         []byte
}

func writePEM(path, kind string, der []byte) ([]byte, error) {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return text, os.WriteFile(path, text, 0o600)
}

func newKey(path string) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	text, err := writePEM(path, "EC PRIVATE KEY", der)
	return key, text, err
}

func template(name string, groups []string, addresses []net.IP) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name, Organization: groups},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:           addresses,
		BasicConstraintsValid: true,
	}, err
}

func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	t, err := template("e2e", nil, nil)
	if err != nil {
		return nil, err
	}
	t.IsCA = true
	t.KeyUsage |= x509.KeyUsageCertSign
	if a.key, _, err = newKey(filepath.Join(dir, "ca.key")); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.pem, err = writePEM(filepath.Join(dir, "ca.crt"), "CERTIFICATE", der)
	return a, err
}

// Writes FILE.key and FILE.crt for @name and gives their text.
func (a *authority) issue(file, name string, groups []string, addresses ...net.IP) (key, crt []byte, err error) {
	t, err := template(name, groups, addresses)
	if err != nil {
		return nil, nil, err
	}
	own, key, err := newKey(filepath.Join(a.dir, file+".key"))
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, own.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	crt, err = writePEM(filepath.Join(a.dir, file+".crt"), "CERTIFICATE", der)
	return key, crt, err
}

// Writes a kubeconfig FILE.kubeconfig for @user and gives its path.
func (a *authority) kubeconfig(file, server string, user *api.AuthInfo) (string, error) {
	config := api.NewConfig()
	config.Clusters["e2e"] = &api.Cluster{Server: server, CertificateAuthorityData: a.pem}
	config.AuthInfos["user"] = user
	config.Contexts["e2e"] = &api.Context{Cluster: "e2e", AuthInfo: "user"}
	config.CurrentContext = "e2e"
	path := filepath.Join(a.dir, file+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// A kubeconfig for a component that is known by its certificate.
func (a *authority) componentKubeconfig(file, server, name string, groups ...string) (string, error) {
	key, crt, err := a.issue(file, name, groups)
	if err != nil {
		return "", err
	}
	return a.kubeconfig(file, server, &api.AuthInfo{ClientKeyData: key, ClientCertificateData: crt})
}
