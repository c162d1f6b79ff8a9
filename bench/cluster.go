package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"almanac/bench/systems"
)

// clusterSettings are the settings of Temporal on a cluster, as internal/cluster/run names them, and
// the goal for the p99 of each tick.
var clusterSettings = []struct {
	flag, name string
	goal       time.Duration
}{
	{"recommended", "the recommended settings", 150 * time.Millisecond},
	{"defaults", "Temporal's own settings", 500 * time.Millisecond},
}

const clusterJobs = 500 // of each herd

// measureCluster measures few scenarios, on a cluster of its own for each of the settings.
func (b *bench) measureCluster(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := systems.Build(ctx, dir, "./internal/cluster/run")
	if err != nil {
		return err
	}
	for _, c := range clusterSettings {
		b.progress.Printf("starting a cluster with %s", c.name)
		cluster, err := systems.Start(ctx, path, "-settings", c.flag)
		if err != nil {
			return fmt.Errorf("with %s: %w", c.name, err)
		}
		scenarios := b.options.fewScenarios(cmp.Or(b.options.jobs, clusterJobs), ", on a cluster with "+c.name, c.goal)
		err = b.measureScenarios(ctx, systems.NewAlmanac(b.receiver, cluster.APIs), scenarios)
		if err := errors.Join(err, cluster.Stop()); err != nil {
			return err
		}
	}
	return nil
}
