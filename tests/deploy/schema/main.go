// Decodes Kubernetes objects into the types of the API server's own modules, strictly: a field that
// does not exist, is of another type or stands there twice is a mistake. Reads files with YAML
// documents, prints each mistake and 'N objects, M of kinds without a type here'.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

type counts struct{ typed, untyped, wrong int }

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
		rbacv1.AddToScheme, storagev1.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

func checkDocument(scheme *runtime.Scheme, document []byte, seen *counts) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(document, &meta); err != nil {
		return err
	}
	if meta.Kind == "" {
		if len(bytes.TrimSpace(stripComments(document))) == 0 {
			return nil
		}
		return errors.New("a document without kind")
	}
	object, err := scheme.New(schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind))
	if runtime.IsNotRegisteredError(err) {
		seen.untyped++
		return nil
	}
	if err != nil {
		return err
	}
	seen.typed++
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return fmt.Errorf("%s: %w", meta.Kind, err)
	}
	return nil
}

func stripComments(document []byte) []byte {
	var rest [][]byte
	for _, line := range bytes.Split(document, []byte("\n")) {
		if text := bytes.TrimSpace(line); !bytes.HasPrefix(text, []byte("#")) && string(text) != "---" {
			rest = append(rest, line)
		}
	}
	return bytes.Join(rest, []byte("\n"))
}

func checkFile(scheme *runtime.Scheme, path string, seen *counts) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := checkDocument(scheme, document, seen); err != nil {
			fmt.Printf("%s: %v\n", path, err)
			seen.wrong++
		}
	}
}

func main() {
	var seen counts
	scheme, err := newScheme()
	for _, path := range os.Args[1:] {
		if err == nil {
			err = checkFile(scheme, path, &seen)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("%d objects, %d of kinds without a type here\n", seen.typed+seen.untyped, seen.untyped)
	if seen.wrong > 0 {
		os.Exit(1)
	}
}
