//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"almanac/internal/cluster"
	"almanac/internal/processes"
)

// A system is all processes of Almanac, and what stands between them.
type system struct {
	form     string
	all      []*processes.Process // in the order in which they are started
	server   *processes.Process   // that writes the database, and is started before the others
	temporal []*processes.Process // of which Temporal consists, the server among them
	cluster  *cluster.Cluster     // nil unless in the form postgres
	workers  []*processes.Process
	apis     []*processes.Process
	proxy    *proxy // nil in the form one
	frontend string // Temporal's own address
	logs     []io.Closer
	keys     *keyFile // nil: what Temporal stores is not encrypted
}

// newSystem prepares the processes.
func newSystem(ctx context.Context, o options, work string, keys *keyFile) (*system, error) {
	ports, err := processes.FreePorts(8)
	if err != nil {
		return nil, err
	}
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	s := &system{form: o.form, frontend: address(0), keys: keys}
	data := filepath.Join(work, "data")
	logFile := func(name string) (io.Writer, error) {
		log, err := os.OpenFile(filepath.Join(o.out, name+".log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err == nil {
			s.logs = append(s.logs, log)
		}
		return log, err
	}
	add := func(p *processes.Process) (_ *processes.Process, err error) {
		p.Log, err = logFile(p.Name)
		s.all = append(s.all, p)
		return p, err
	}
	if o.form == formOne {
		p, err := add(&processes.Process{
			Name: "almanac", Address: address(1), Ready: "http://" + address(1) + "/readyz",
			Command: append([]string{
				o.almanac, "dev", "--data", data, "--listen", address(1), "--temporal-listen", address(0), "--ui-listen", "",
				"--plans", "unlimited", "--synchronous", "normal",
			}, keys.flags()...),
		})
		s.server, s.workers, s.apis = p, []*processes.Process{p}, []*processes.Process{p}
		return s, err
	}
	if o.form == formPostgres {
		s.cluster, err = cluster.New(ctx, cluster.Options{Dir: work, Namespace: "default", Log: logFile})
		if err != nil {
			return nil, err
		}
		s.server, s.frontend = s.cluster.Postgres, s.cluster.Address
		s.temporal = append([]*processes.Process{s.server}, s.cluster.Services...)
		s.all = append(s.all, s.temporal...)
	} else {
		s.server, err = add(&processes.Process{Name: "temporal", Says: "Temporal 127.0.0.1", Command: []string{o.temporal, "-data", data, "-listen", s.frontend}})
		if err != nil {
			return nil, err
		}
		s.temporal = s.all
	}
	if s.proxy, err = newProxy(address(1), s.frontend); err != nil {
		return nil, err
	}
	env := []string{"TEMPORAL_ADDRESS=" + address(1), "ALMANAC_EGRESS=any", "ALMANAC_PLANS=unlimited", "ALMANAC_LOG_LEVEL=warn"}
	for i := range o.workers {
		p, err := add(&processes.Process{Name: fmt.Sprintf("worker%d", i+1), Says: "Worker  (", Command: append([]string{o.almanac, "worker"}, keys.flags()...), Env: env})
		if err != nil {
			return nil, err
		}
		s.workers = append(s.workers, p)
	}
	for i := range o.workers {
		p, err := add(&processes.Process{
			Name: fmt.Sprintf("api%d", i+1), Address: address(2 + i), Ready: "http://" + address(2+i) + "/readyz",
			Command: append([]string{o.almanac, "api", "--listen", address(2 + i)}, keys.flags()...), Env: env,
		})
		if err != nil {
			return nil, err
		}
		s.apis = append(s.apis, p)
	}
	return s, nil
}

// start starts all processes and waits until they are ready.
func (s *system) start(ctx context.Context) error {
	rest := s.all
	if s.cluster != nil {
		if err := s.cluster.Start(ctx); err != nil {
			return err
		}
		rest = rest[len(s.temporal):]
	}
	for _, p := range rest {
		if err := p.Start(); err != nil {
			return err
		}
		if p == s.server {
			if err := p.Await(ctx); err != nil {
				return err
			}
		}
	}
	return s.await(ctx)
}

// await waits until all processes are ready.
func (s *system) await(ctx context.Context) error {
	errs := make([]error, len(s.all))
	var group sync.WaitGroup
	for i, p := range s.all {
		group.Go(func() { errs[i] = p.Await(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// stop kills everything.
func (s *system) stop() {
	for _, p := range slices.Backward(s.all) {
		p.Kill()
	}
	if s.proxy != nil {
		s.proxy.close()
	}
	for _, l := range s.logs {
		_ = l.Close()
	}
}

// api returns the URL of the API of that number.
func (s *system) api(i int) string { return "http://" + s.apis[i%len(s.apis)].Address }

// check reports a process that ended by itself.
func (s *system) check() error {
	for _, p := range s.all {
		if p.Gone() {
			return fmt.Errorf("%s ended by itself; its log says why", p.Name)
		}
	}
	return nil
}

// build builds a program of this module.
func build(ctx context.Context, path, into string) (string, error) {
	out := filepath.Join(into, filepath.Base(path))
	text, err := exec.CommandContext(ctx, "go", "build", "-o", out, "almanac/"+path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s (run in the module's directory): %w\n%s", path, err, text)
	}
	return out, nil
}
