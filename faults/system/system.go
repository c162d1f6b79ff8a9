//go:build linux

// Package system runs the system under test: Almanac and Temporal as processes, and a proxy between the two.
package system

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"almanac/internal/cluster"
	"almanac/internal/processes"
)

// The forms of the system.
const (
	One      = "one"      // one process
	Cluster  = "cluster"  // Temporal, two workers and two APIs
	Postgres = "postgres" // likewise, with PostgreSQL and each service of Temporal as processes of their own
)

// Instances is the number of APIs and, by default, of workers, unless the form is one.
const Instances = 2

// Options configure [New].
type Options struct {
	Form     string
	Almanac  string   // the program
	Temporal string   // the program that runs Temporal, in the form cluster
	Dir      string   // of the database; must be empty
	Logs     string   // the directory that gets the logs of the processes
	Workers  int      // 0 means Instances
	Keys     *KeyFile // nil: what Temporal stores is not encrypted
}

// A System is all processes, and the proxy. In the form one, one process is server, worker and API.
type System struct {
	Form     string
	All      []*processes.Process // in the order in which they are started
	Server   *processes.Process   // the one that writes the database; it is started first
	Temporal []*processes.Process // the processes of Temporal, including the server; none in the form one
	Workers  []*processes.Process
	APIs     []*processes.Process
	Proxy    *Proxy // nil in the form one
	Frontend string // address of Temporal, without the proxy
	Keys     *KeyFile

	options  Options
	postgres *cluster.Cluster // nil unless the form is postgres
	logs     []io.Closer
}

// New prepares the processes; Start starts them.
func New(ctx context.Context, o Options) (*System, error) {
	ports, err := processes.FreePorts(2 + Instances)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, port := range ports {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
	}
	s := &System{Form: o.Form, Frontend: addresses[0], Keys: o.Keys, options: o}
	if o.Form == One {
		return s, s.addOne(addresses[1])
	}
	if o.Form == Postgres {
		err = s.addPostgres(ctx)
	} else {
		err = s.addTemporal()
	}
	if err != nil {
		return nil, err
	}
	if s.Proxy, err = newProxy(addresses[1], s.Frontend); err != nil {
		return nil, err
	}
	return s, s.addAlmanac(addresses[1], addresses[2:])
}

// add adds a process that logs to a file.
func (s *System) add(p *processes.Process) (err error) {
	p.Log, err = s.logFile(p.Name)
	s.All = append(s.All, p)
	return err
}

func (s *System) logFile(name string) (io.Writer, error) {
	log, err := os.OpenFile(filepath.Join(s.options.Logs, name+".log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err == nil {
		s.logs = append(s.logs, log)
	}
	return log, err
}

// addOne adds the only process of the form one.
func (s *System) addOne(address string) error {
	s.Server = &processes.Process{
		Name: "almanac", Address: address, Ready: "http://" + address + "/readyz",
		Command: append([]string{
			s.options.Almanac, "dev", "--data", filepath.Join(s.options.Dir, "data"), "--listen", address, "--temporal-listen", s.Frontend, "--ui-listen", "",
			"--plans", "unlimited", "--synchronous", "normal", "--max-rate-per-caller", "0", "--max-in-flight-per-caller", "0",
		}, s.Keys.flags()...),
	}
	s.Workers, s.APIs = []*processes.Process{s.Server}, []*processes.Process{s.Server}
	return s.add(s.Server)
}

// addTemporal adds Temporal as one process.
func (s *System) addTemporal() error {
	s.Server = &processes.Process{
		Name: "temporal", Says: "Temporal 127.0.0.1",
		Command: []string{s.options.Temporal, "-data", filepath.Join(s.options.Dir, "data"), "-listen", s.Frontend},
	}
	s.Temporal = []*processes.Process{s.Server}
	return s.add(s.Server)
}

// addPostgres adds PostgreSQL and the services of Temporal.
func (s *System) addPostgres(ctx context.Context) (err error) {
	s.postgres, err = cluster.New(ctx, cluster.Options{Dir: s.options.Dir, Namespace: "default", Log: s.logFile})
	if err != nil {
		return err
	}
	s.Server, s.Frontend = s.postgres.Postgres, s.postgres.Address
	s.Temporal = append([]*processes.Process{s.Server}, s.postgres.Services...)
	s.All = append(s.All, s.Temporal...)
	return nil
}

// addAlmanac adds the workers and the APIs, which connect to Temporal at an address.
func (s *System) addAlmanac(temporal string, addresses []string) error {
	env := []string{"TEMPORAL_ADDRESS=" + temporal, "ALMANAC_EGRESS=any", "ALMANAC_PLANS=unlimited", "ALMANAC_LOG_LEVEL=warn"}
	for i := range cmp.Or(s.options.Workers, Instances) {
		s.Workers = append(s.Workers, &processes.Process{
			Name: fmt.Sprintf("worker%d", i+1), Says: "Worker  (", Env: env,
			Command: append([]string{s.options.Almanac, "worker"}, s.Keys.flags()...),
		})
	}
	for i := range Instances {
		s.APIs = append(s.APIs, &processes.Process{
			Name: fmt.Sprintf("api%d", i+1), Address: addresses[i], Ready: "http://" + addresses[i] + "/readyz", Env: env,
			Command: append([]string{s.options.Almanac, "api", "--listen", addresses[i], "--max-rate-per-caller", "0", "--max-in-flight-per-caller", "0"}, s.Keys.flags()...),
		})
	}
	for _, p := range slices.Concat(s.Workers, s.APIs) {
		if err := s.add(p); err != nil {
			return err
		}
	}
	return nil
}

// Start starts all processes and waits until they are ready.
func (s *System) Start(ctx context.Context) error {
	rest := s.All
	if s.postgres != nil {
		if err := s.postgres.Start(ctx); err != nil {
			return err
		}
		rest = rest[len(s.Temporal):]
	}
	if err := s.Launch(ctx, rest); err != nil {
		return err
	}
	return s.await(ctx)
}

// Launch starts processes, the server before the others, with some additional flags.
func (s *System) Launch(ctx context.Context, all []*processes.Process, flags ...string) error {
	for _, p := range all {
		if err := p.Start(flags...); err != nil {
			return err
		}
		if p == s.Server && len(all) > 1 {
			if err := p.Await(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// await waits until all processes are ready.
func (s *System) await(ctx context.Context) error {
	var group errgroup.Group
	for _, p := range s.All {
		group.Go(func() error { return p.Await(ctx) })
	}
	return group.Wait()
}

// Recover starts the processes that ended by themselves, and waits until all processes are ready.
func (s *System) Recover(ctx context.Context) error {
	var err error
	for range 3 { // a process may end before it is ready
		for _, p := range s.All {
			if p.Gone() {
				if err := p.Start(); err != nil {
					return err
				}
			}
		}
		if err = s.await(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// Stop kills all processes.
func (s *System) Stop() {
	for _, p := range slices.Backward(s.All) {
		p.Kill()
	}
	if s.Proxy != nil {
		s.Proxy.close()
	}
	for _, l := range s.logs {
		_ = l.Close()
	}
}

// URLs returns the URLs of the APIs.
func (s *System) URLs() []string {
	var urls []string
	for _, p := range s.APIs {
		urls = append(urls, "http://"+p.Address)
	}
	return urls
}

// Check returns an error if a process ended by itself.
func (s *System) Check() error {
	for _, p := range s.All {
		if p.Gone() {
			return fmt.Errorf("%s ended by itself; see its log", p.Name)
		}
	}
	return nil
}

// Build builds a program of this module into a directory.
func Build(ctx context.Context, path, into string) (string, error) {
	out := filepath.Join(into, filepath.Base(path))
	text, err := exec.CommandContext(ctx, "go", "build", "-o", out, "almanac/"+path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s (run in the module's directory): %w\n%s", path, err, text)
	}
	return out, nil
}
