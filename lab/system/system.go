// Package system runs an Almanac that is measured or disturbed: Almanac and Temporal as processes on this machine, and
// perhaps a proxy between the two.
package system

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"almanac/internal/freeport"
	"almanac/lab/processes"
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
	Almanac  string   // the program; empty: it is built
	Temporal []string // the command that runs Temporal in the form cluster, up to the directory and the address
	Dir      string   // of programs and the database, created anew
	Logs     string   // the directory that gets the logs of the processes; empty: they are printed to stderr
	Workers  int      // 0 means Instances
	APIs     int      // likewise
	Settings Settings // of Temporal, in the form postgres; empty means Recommended
	Keys     *KeyFile // nil: what Temporal stores is not encrypted
	Proxy    bool     // whether Almanac connects to Temporal through a [Proxy]; not in the form one

	Env   []string // of all processes of Almanac
	Flags []string // of the APIs; in the form one, of the only process
}

// Unlimited are flags that lift the limits of callers, for experiments in which one caller creates all jobs.
var Unlimited = []string{"--max-rate-per-caller", "0", "--max-in-flight-per-caller", "0"}

// A System is all processes, and the proxy. In the form one, one process is server, worker and API.
type System struct {
	Form     string
	All      []*processes.Process // in the order in which they are started
	Server   *processes.Process   // the one that writes the database; it is started first
	Temporal []*processes.Process // the processes of Temporal, including the server; none in the form one
	Workers  []*processes.Process
	APIs     []*processes.Process
	Proxy    *Proxy // nil if there is none
	Frontend string // address of Temporal, without the proxy
	Keys     *KeyFile

	options Options
	cluster *cluster // nil unless the form is postgres
	logs    []io.Closer
}

// New builds what is not given, which takes minutes the first time, and prepares the processes; Start starts them. The
// working directory must be in the laboratory's module.
func New(ctx context.Context, o Options) (s *System, err error) {
	o.Workers, o.APIs = cmp.Or(o.Workers, Instances), cmp.Or(o.APIs, Instances)
	if o.Almanac == "" {
		if o.Almanac, err = BuildAlmanac(ctx, o.Dir, o.Form != One); err != nil {
			return nil, err
		}
	}
	s = &System{Form: o.Form, Keys: o.Keys, options: o}
	if s.Frontend, err = freeport.Address(); err != nil {
		return nil, err
	}
	switch o.Form {
	case One:
		return s, s.addOne()
	case Postgres:
		err = s.addPostgres(ctx)
	default:
		err = s.addTemporal()
	}
	if err != nil {
		return nil, err
	}
	temporal := s.Frontend
	if o.Proxy {
		if temporal, err = freeport.Address(); err != nil {
			return nil, err
		}
		if s.Proxy, err = newProxy(temporal, s.Frontend); err != nil {
			return nil, err
		}
	}
	return s, s.addAlmanac(temporal)
}

// add adds a process with its log.
func (s *System) add(p *processes.Process) error {
	s.All = append(s.All, p)
	if s.options.Logs == "" {
		p.Log = os.Stderr
		return nil
	}
	name := filepath.Join(s.options.Logs, p.Name+".log")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err == nil {
		p.Log, s.logs = log, append(s.logs, log)
	}
	return err
}

// addOne adds the only process of the form one.
func (s *System) addOne() error {
	address, err := freeport.Address()
	if err != nil {
		return err
	}
	s.Server = &processes.Process{
		Name: "almanac", Address: address, Ready: "http://" + address + "/readyz", Env: s.options.Env,
		Command: slices.Concat([]string{
			s.options.Almanac, "dev", "--data", s.data(), "--listen", address, "--temporal-listen", s.Frontend,
			"--ui-listen", "",
		}, s.options.Flags, s.Keys.flags()),
	}
	s.Workers, s.APIs = []*processes.Process{s.Server}, []*processes.Process{s.Server}
	return s.add(s.Server)
}

// data returns the directory of the database, unless that is PostgreSQL's.
func (s *System) data() string { return filepath.Join(s.options.Dir, "data") }

// addTemporal adds Temporal as one process.
func (s *System) addTemporal() error {
	s.Server = &processes.Process{
		Name: "temporal", Says: "Temporal 127.0.0.1",
		Command: append(slices.Clone(s.options.Temporal), "-data", s.data(), "-listen", s.Frontend),
	}
	s.Temporal = []*processes.Process{s.Server}
	return s.add(s.Server)
}

// addPostgres adds PostgreSQL and the services of Temporal.
func (s *System) addPostgres(ctx context.Context) (err error) {
	if s.cluster, err = newCluster(ctx, s.options.Dir, s.options.Settings); err != nil {
		return err
	}
	s.Server, s.Frontend = s.cluster.postgres.process, s.cluster.address
	s.Temporal = append([]*processes.Process{s.Server}, s.cluster.services...)
	for _, p := range s.Temporal {
		if err := s.add(p); err != nil {
			return err
		}
	}
	return nil
}

// addAlmanac adds the workers and the APIs, which connect to Temporal at an address.
func (s *System) addAlmanac(temporal string) error {
	env := append([]string{"TEMPORAL_ADDRESS=" + temporal, "ALMANAC_EGRESS=any", "ALMANAC_PLANS=unlimited"},
		s.options.Env...)
	for i := range s.options.Workers {
		s.Workers = append(s.Workers, &processes.Process{
			Name: fmt.Sprintf("worker%d", i+1), Says: "Worker  (", Env: env,
			Command: append([]string{s.options.Almanac, "worker"}, s.Keys.flags()...),
		})
	}
	for i := range s.options.APIs {
		address, err := freeport.Address()
		if err != nil {
			return err
		}
		s.APIs = append(s.APIs, &processes.Process{
			Name: fmt.Sprintf("api%d", i+1), Address: address, Ready: "http://" + address + "/readyz", Env: env,
			Command: slices.Concat([]string{s.options.Almanac, "api", "--listen", address}, s.options.Flags,
				s.Keys.flags()),
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
	if s.cluster != nil {
		if err := s.cluster.start(ctx); err != nil {
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

// endTime is how long a process may take to end after SIGTERM before it is killed.
const endTime = 30 * time.Second

// End ends Almanac's processes by SIGTERM, and kills those that are left and those of Temporal.
func (s *System) End() {
	almanac := slices.Concat(s.Workers, s.APIs)
	for _, p := range almanac {
		p.Signal(syscall.SIGTERM)
	}
	for _, p := range almanac {
		p.End(endTime)
	}
	s.Stop()
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

// DataSize returns the bytes of the files of the database, unless that is PostgreSQL's.
func (s *System) DataSize() (total float64, err error) {
	err = filepath.WalkDir(s.data(), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += float64(info.Size())
		}
		return err
	})
	return total, err
}
