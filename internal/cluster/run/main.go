//go:build linux

// Command run starts Almanac as on several machines: PostgreSQL, Temporal's services, and
// several workers and APIs, each as a process of its own. It runs until it is interrupted,
// and then stops all processes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"almanac/internal/cluster"
	"almanac/internal/help"
	"almanac/internal/processes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

const usage = `Usage: go run ./internal/cluster/run [flags]

Start Almanac as on several machines: PostgreSQL, Temporal's services, and several
workers and APIs, each as a process of its own. Print the addresses, and run until
Ctrl-C, which stops all processes. It needs Linux and Debian's package postgresql.
Building takes minutes the first time.
`

type options struct {
	data, almanac string
	settings      cluster.Settings
	workers, apis int
}

func parse(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.StringVar(&o.data, "data", "", "`directory` for programs, configuration, logs and the database, which is created anew; empty: a temporary one, which is removed")
	flags.StringVar(&o.almanac, "almanac", "", "`program` to run; empty: ./cmd/almanac is built, without the embedded server")
	settings := flags.String("settings", string(cluster.Recommended), "settings of Temporal, `recommended|defaults`: what docs/tuning.md recommends, or Temporal's own")
	flags.IntVar(&o.workers, "workers", 2, "number of workers, 1 to 100")
	flags.IntVar(&o.apis, "apis", 2, "number of APIs, 1 to 100")
	if err := help.Parse(flags, usage, args, output); err != nil {
		return o, err
	}
	o.settings = cluster.Settings(*settings)
	switch {
	case o.settings != cluster.Recommended && o.settings != cluster.Defaults:
		return o, fmt.Errorf("-settings must be recommended or defaults (got %q)", o.settings)
	case o.workers < 1 || o.apis < 1 || o.workers > 100 || o.apis > 100:
		return o, errors.New("-workers and -apis must be between 1 and 100")
	}
	return o, nil
}

// build builds Almanac without the embedded server.
func build(ctx context.Context, program string) error {
	text, err := exec.CommandContext(ctx, "go", "build", "-tags", "slim", "-o", program, "almanac/cmd/almanac").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build almanac (run in the module's directory): %w\n%s", err, text)
	}
	return nil
}

// end ends processes by SIGTERM, and those that are left 30 s later by SIGKILL.
func end(running []*processes.Process) {
	for _, p := range running {
		p.Signal(syscall.SIGTERM)
	}
	for _, p := range running {
		p.End(30 * time.Second)
	}
}

func run(ctx context.Context, args []string) (err error) {
	o, err := parse(args, os.Stdout)
	if err != nil {
		return err
	}
	if o.data == "" {
		if o.data, err = os.MkdirTemp("", "almanac-cluster-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.data)) }()
	}
	o.data, err = filepath.Abs(o.data)
	if err = errors.Join(err, os.MkdirAll(o.data, 0o755)); err != nil {
		return err
	}
	fmt.Println("Building, which takes minutes the first time ...")
	if o.almanac == "" {
		o.almanac = filepath.Join(o.data, "almanac")
		if err := build(ctx, o.almanac); err != nil {
			return err
		}
	}
	log := func(process string) (io.Writer, error) { return os.Create(filepath.Join(o.data, process+".log")) }
	c, err := cluster.New(ctx, cluster.Options{Dir: o.data, Namespace: "default", Settings: o.settings, Log: log})
	if err != nil {
		return err
	}
	running, err := almanac(o, c.Address, log)
	if err != nil {
		return err
	}
	defer c.Stop()
	start := time.Now()
	if err := c.Start(ctx); err != nil {
		return err
	}
	defer end(running)
	for _, p := range running {
		if err := p.Start(); err != nil {
			return err
		}
	}
	var apis []string
	for _, p := range running {
		if err := p.Await(ctx); err != nil {
			return err
		}
		if p.Address != "" {
			apis = append(apis, "http://"+p.Address)
		}
	}
	fmt.Printf("Ready after %s\nAPI        %s\nTemporal   %s (namespace default)\nLogs       %s\n",
		time.Since(start).Round(time.Second), strings.Join(apis, " "), c.Address, o.data)
	for _, p := range append(append([]*processes.Process{c.Postgres}, c.Services...), running...) {
		fmt.Printf("%-10s process %d\n", p.Name, p.PID())
	}
	<-ctx.Done()
	return nil
}

// almanac prepares the workers and APIs.
func almanac(o options, temporal string, log func(string) (io.Writer, error)) ([]*processes.Process, error) {
	ports, err := processes.FreePorts(o.apis)
	if err != nil {
		return nil, err
	}
	env := []string{"TEMPORAL_ADDRESS=" + temporal, "ALMANAC_EGRESS=any", "ALMANAC_PLANS=unlimited"}
	var all []*processes.Process
	for i := range o.workers {
		all = append(all, &processes.Process{Name: fmt.Sprintf("worker%d", i+1), Says: "Worker  (", Command: []string{o.almanac, "worker"}, Env: env})
	}
	for i, port := range ports {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		all = append(all, &processes.Process{
			Name: fmt.Sprintf("api%d", i+1), Address: address, Ready: "http://" + address + "/readyz",
			Command: []string{o.almanac, "api", "--listen", address}, Env: env,
		})
	}
	for _, p := range all {
		if p.Log, err = log(p.Name); err != nil {
			return nil, err
		}
	}
	return all, nil
}
