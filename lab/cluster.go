package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"almanac/internal/help"
	"almanac/lab/system"
)

const clusterUsage = `Usage: go run . cluster [flags]   (in the directory lab)

Start Almanac as on several machines: PostgreSQL, Temporal's services, and several
workers and APIs, each as a process of its own. Print the addresses, and run until
Ctrl-C, which stops all processes. It needs Debian's package postgresql. Building
takes minutes the first time.
`

// parseCluster returns the options of the system; Dir is empty for a temporary directory.
func parseCluster(args []string, output io.Writer) (system.Options, error) {
	o := system.Options{Form: system.Postgres}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.StringVar(&o.Dir, "data", "", "`directory` for programs, configuration, logs and the database, which is "+
		"created anew; "+
		"empty: a temporary one, which is removed")
	flags.StringVar(&o.Almanac, "almanac", "", "`program` to run; empty: it is built, without the embedded server")
	settings := flags.String("settings", string(system.Recommended), "settings of Temporal, `recommended|defaults`: "+
		"what docs/tuning.md recommends, or Temporal's own")
	flags.IntVar(&o.Workers, "workers", 2, "number of workers, 1 to 100")
	flags.IntVar(&o.APIs, "apis", 2, "number of APIs, 1 to 100")
	if err := help.Parse(flags, clusterUsage, args, output); err != nil {
		return o, err
	}
	o.Settings = system.Settings(*settings)
	switch {
	case o.Settings != system.Recommended && o.Settings != system.Defaults:
		return o, fmt.Errorf("-settings must be recommended or defaults (got %q)", o.Settings)
	case o.Workers < 1 || o.APIs < 1 || o.Workers > 100 || o.APIs > 100:
		return o, errors.New("-workers and -apis must be between 1 and 100")
	}
	return o, nil
}

// runCluster runs Almanac as on several machines until ctx ends.
func runCluster(ctx context.Context, args []string, out, _ io.Writer) (err error) {
	o, err := parseCluster(args, out)
	if err != nil {
		return err
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "almanac-cluster-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	}
	o.Dir, err = filepath.Abs(o.Dir)
	if err = errors.Join(err, os.MkdirAll(o.Dir, 0o755)); err != nil {
		return err
	}
	o.Logs = o.Dir
	fmt.Fprintln(out, "Building, which takes minutes the first time ...")
	s, err := system.New(ctx, o)
	if err != nil {
		return err
	}
	defer s.End()
	start := time.Now()
	if err := s.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "Ready after %s\nAPI        %s\nTemporal   %s (namespace default)\nLogs       %s\n",
		time.Since(start).Round(time.Second), strings.Join(s.URLs(), " "), s.Frontend, o.Logs)
	for _, p := range s.All {
		fmt.Fprintf(out, "%-10s process %d\n", p.Name, p.PID())
	}
	<-ctx.Done()
	return nil
}
