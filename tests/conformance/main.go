// Command conformance compares the verdicts of libcephzone-scheduling with those of
// kube-scheduler's own plugins, over generated clusters. README.md has the rest.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"k8s.io/klog/v2"
)

// Of the plugins' module; its rules are asked of the library.
const kubernetesVersion = "1.36"

// How often the plugins are asked again about a pod for which they differ from the library.
const repetitions = 64

// Differences that are printed; the others are counted.
const printed = 20

// The C program with the library: a line with a cluster in, a line with verdicts out.
type library struct {
	in  *json.Encoder
	out *bufio.Reader
}

func startLibrary(ctx context.Context, program string) (*library, func() error, error) {
	command := exec.CommandContext(ctx, program, kubernetesVersion)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() error {
		in.Close()
		return command.Wait()
	}
	return &library{json.NewEncoder(in), bufio.NewReaderSize(out, 1<<20)}, stop, nil
}

// The verdicts of all pending pods, and within a pod of all nodes by name.
func (l *library) check(g *generator) ([][]verdict, error) {
	pods := make([][2]string, 0, len(g.pending))
	for _, pod := range g.pending {
		pods = append(pods, [2]string{pod.Namespace, pod.Name})
	}
	if err := l.in.Encode(map[string]any{"objects": g.objects, "pods": pods}); err != nil {
		return nil, err
	}
	line, err := l.out.ReadBytes('\n')
	if err == io.EOF {
		return nil, fmt.Errorf("the library's program has ended")
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error string      `json:"error"`
		Pods  [][]verdict `json:"pods"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("the library refuses the cluster: %s", answer.Error)
	}
	return answer.Pods, nil
}

type comparison struct {
	library     *library
	verdicts    int
	fitting     int
	differences int
	chances     int
	plugins     map[string]int // rejections by plugin
}

// Of an error the text counts as far as the library has it: the framework puts its own in front.
func same(theirs, ours verdict) bool {
	if theirs.Node != ours.Node || nameInLibrary(theirs.Plugin) != ours.Plugin || theirs.Error != ours.Error {
		return false
	}
	if theirs.Error {
		return strings.HasSuffix(strings.Join(theirs.Reasons, "; "), strings.Join(ours.Reasons, "; "))
	}
	return slices.Equal(theirs.Reasons, ours.Reasons)
}

// Whether the plugins, asked again on the same objects, also say what the library says. Objects come
// in another order each time, as they reach a scheduler in any order.
func isLeftToChance(ctx context.Context, g *generator, pod, node int, ours verdict) (bool, error) {
	objects := slices.Clone(g.objects)
	for range repetitions {
		g.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		scheduler, err := newScheduler(ctx, objects)
		if err != nil {
			return false, err
		}
		verdicts, err := scheduler.check(ctx, g.pending[pod])
		if err != nil {
			return false, err
		}
		if same(verdicts[node], ours) {
			return true, nil
		}
	}
	return false, nil
}

func (c *comparison) comparePod(ctx context.Context, seed int64, g *generator, pod int, theirs, ours []verdict) error {
	if len(theirs) != len(ours) {
		return fmt.Errorf("cluster %d: %d verdicts instead of %d", seed, len(ours), len(theirs))
	}
	for node := range theirs {
		c.verdicts++
		if theirs[node].Plugin == "" {
			c.fitting++
		} else {
			c.plugins[theirs[node].Plugin]++
		}
		if same(theirs[node], ours[node]) {
			continue
		}
		chance, err := isLeftToChance(ctx, g, pod, node, ours[node])
		if err != nil {
			return err
		}
		if chance {
			c.chances++
			continue
		}
		c.differences++
		if c.differences <= printed {
			fmt.Printf("cluster %d, pod %s/%s, node %s\n    kube-scheduler: %s\n    library:        %s\n", seed,
				g.pending[pod].Namespace, g.pending[pod].Name, theirs[node].Node, theirs[node], ours[node])
		}
	}
	return nil
}

func (c *comparison) compareCluster(ctx context.Context, seed int64) error {
	g := generate(seed)
	ours, err := c.library.check(g)
	if err != nil {
		return fmt.Errorf("cluster %d: %w", seed, err)
	}
	if len(ours) != len(g.pending) {
		return fmt.Errorf("cluster %d: verdicts on %d pods instead of %d", seed, len(ours), len(g.pending))
	}
	scheduler, err := newScheduler(ctx, g.objects)
	if err != nil {
		return err
	}
	for pod := range g.pending {
		theirs, err := scheduler.check(ctx, g.pending[pod])
		if err != nil {
			return err
		}
		if err := c.comparePod(ctx, seed, g, pod, theirs, ours[pod]); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) report() {
	fmt.Printf("figure: conformance: %d verdicts, %d fit, %d differences, %d left to chance by kube-scheduler\n",
		c.verdicts, c.fitting, c.differences, c.chances)
	for _, name := range compared {
		fmt.Printf("    rejected by %-20s %8d\n", name, c.plugins[name])
	}
}

func run(ctx context.Context, program string, seed int64, verdicts int) (c *comparison, err error) {
	library, stop, err := startLibrary(ctx, program)
	if err != nil {
		return nil, err
	}
	defer func() {
		if ended := stop(); err == nil && ended != nil {
			err = fmt.Errorf("the library's program: %w", ended)
		}
	}()
	c = &comparison{library: library, plugins: map[string]int{}}
	for ; c.verdicts < verdicts; seed++ {
		if err := c.compareCluster(ctx, seed); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func main() {
	program := flag.String("library", "", "the program with the library")
	seed := flag.Int64("seed", 1, "of the first cluster; each further one has the next")
	verdicts := flag.Int("verdicts", 100000, "to compare at least")
	show := flag.Bool("show", false, "print the objects of the cluster with the seed instead")
	flag.Parse()
	klog.SetLogger(klog.Logger{})
	ctx := context.Background()

	if *show {
		json.NewEncoder(os.Stdout).Encode(map[string]any{"items": generate(*seed).objects})
		return
	}
	c, err := run(ctx, *program, *seed, *verdicts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	c.report()
	for _, name := range compared {
		if c.plugins[name] == 0 {
			fmt.Printf("no pod was rejected by %s: the clusters do not test it\n", name)
			c.differences++
		}
	}
	if c.differences > 0 {
		os.Exit(1)
	}
}
