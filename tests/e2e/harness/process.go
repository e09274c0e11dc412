package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A process that the test runs. Everything it prints goes to a file of its name in the log folder.
type process struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
	at    time.Time // of its end
	err   error
}

// How to start a process; only argv is needed.
type launch struct {
	env       []string // further variables
	namespace string   // of the network: the node whose address it has
	hostname  string   // what it believes its host to be called, as in a pod
}

func (c *cluster) start(name string, how launch, argv ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(c.logs, name+".log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	fmt.Fprintf(log, "--- %s\n", strings.Join(argv, " "))
	if how.hostname != "" {
		argv = append([]string{"unshare", "--uts", "sh", "-c", `hostname "$0" && exec "$@"`,
			how.hostname}, argv...)
	}
	if how.namespace != "" {
		argv = append([]string{"nsenter", "--net=/run/netns/" + how.namespace, "--"}, argv...)
	}
	p := &process{name: name, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), how.env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		p.at = time.Now()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Asks the process to end, and after half a minute makes it.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Runs a program to its end, at most a minute, and gives what it printed.
func output(argv ...string) (string, error) {
	cmd := exec.Command("timeout", append([]string{"-k", "2", "60"}, argv...)...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, exit.Stderr)
	}
	return string(out), err
}
