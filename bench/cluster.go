package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// clusterTicks is how many ticks follow the first one on a cluster: what disturbs some of
// them, such as a task that waits for a worker's own queue, is not in every one.
const clusterTicks = 10

// A clusterSetting is what Temporal runs with on a cluster, and how late a herd may be then.
type clusterSetting struct {
	settings string // as internal/cluster/run has them
	name     string
	limit    time.Duration // of the p99 of each tick
}

var clusterSettings = []clusterSetting{
	{"recommended", "the recommended settings", 150 * time.Millisecond},
	{"defaults", "Temporal's own settings", 500 * time.Millisecond},
}

// measureClusters measures scenes on a cluster of its own for each of the settings.
func measureClusters(ctx context.Context, o options, progress *log.Logger) (results []sceneResult, err error) {
	dir, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := build(ctx, dir, "./internal/cluster/run")
	if err != nil {
		return nil, err
	}
	ticks := 1 + clusterTicks
	if o.brief {
		ticks = 1
	}
	for _, c := range clusterSettings {
		progress.Printf("starting a cluster with %s", c.name)
		running, apis, err := startCluster(ctx, path, c.settings)
		if err != nil {
			return results, fmt.Errorf("cluster with %s: %w", c.name, err)
		}
		o.apis = apis
		scenes := fewScenes(o.clusterJobs, ticks)
		for i := range scenes {
			scenes[i].name += ", on a cluster with " + c.name
			scenes[i].limit = c.limit
		}
		there, err := measureApart(ctx, o, scenes, progress)
		results = append(results, there...)
		if err = errors.Join(err, stopCluster(running)); err != nil {
			return results, err
		}
	}
	return results, nil
}

// scenesApart is how far apart herds are that are due every minute and are measured at the
// same time: half of the time is saved, and each is over long before the other is due.
const scenesApart = 30 * time.Second

// measureApart measures two scenes at the same time, scenesApart, and the others after them.
func measureApart(ctx context.Context, o options, scenes []scene, progress *log.Logger) ([]sceneResult, error) {
	var first, second, others []sceneResult
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		first, err = measureThere(both, o, scenes[:1], progress)
		return err
	})
	group.Go(func() (err error) {
		if err = pause(both, scenesApart); err == nil {
			second, err = measureThere(both, o, scenes[1:2], progress)
		}
		return err
	})
	err := group.Wait()
	if err == nil {
		others, err = measureThere(ctx, o, scenes[2:], progress)
	}
	return slices.Concat(first, second, others), err
}

// startCluster starts a cluster, and returns the addresses of its APIs once it is ready.
func startCluster(ctx context.Context, path, settings string) (*exec.Cmd, []string, error) {
	module, err := moduleDir(ctx)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, path, "-settings", settings)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it ends what it started
	cmd.Dir, cmd.Stderr = module, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addresses, ok := strings.CutPrefix(lines.Text(), "API "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }() // so that it never waits for its reader
			return cmd, strings.Fields(addresses), nil
		}
	}
	return nil, nil, errors.Join(errors.New("it did not say where its APIs are"), lines.Err(), cmd.Wait())
}

// stopCluster ends all that a cluster started.
func stopCluster(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return cmd.Wait()
}
