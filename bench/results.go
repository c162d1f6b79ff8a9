package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"almanac/bench/engines"
)

// results are everything that was measured; what was not is empty.
type results struct {
	options options
	machine machine
	command string

	scenes    []sceneResult
	herds     []herdResult
	costs     map[string]cost      // by system
	sustained map[string][]float64 // executions a second, by system and round
	calls     []callResult
	isolation *isolationResult
	sleep     *sleepResult
	engines   []engines.Result
}

func newResults(o options, m machine, command string) *results {
	return &results{options: o, machine: m, command: command, costs: map[string]cost{}, sustained: map[string][]float64{}}
}

// herd returns what was measured of a herd; nil if nothing was.
func (r *results) herd(system string, jobs int) *herdResult {
	for i := range r.herds {
		if h := &r.herds[i]; h.system == system && h.jobs == jobs {
			return h
		}
	}
	return nil
}

// check returns an error for what Almanac must never do, however fast it is.
func (r *results) check() error {
	var errs []error
	for _, s := range r.scenes {
		if all := worst(s.ticked); all.early+all.duplicates > 0 {
			errs = append(errs, fmt.Errorf("%d jobs %s: %d requests were early and %d came twice, want none", s.jobs, s.name, all.early, all.duplicates))
		}
	}
	for _, h := range r.herds {
		early, duplicates := 0, 0
		for _, t := range h.ticks {
			early += t.early
			duplicates += t.duplicates
		}
		if h.system == nameAlmanac && early+duplicates > 0 {
			errs = append(errs, fmt.Errorf("%s sent %d of %d jobs' requests early and %d twice, want none", h.system, early, h.jobs, duplicates))
		}
	}
	return errors.Join(errs...)
}

// The files that are written.
const (
	reportFile = "benchmarks.md"
	plotFile   = "lateness.svg"
)

// write writes the report, and the plot if there is something to show.
func (r *results) write(dir, text string) error {
	if err := os.WriteFile(filepath.Join(dir, reportFile), []byte(text), 0o644); err != nil {
		return err
	}
	if len(r.herds) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, plotFile), []byte(r.plot().svg()), 0o644)
}

// command is how the figures can be had again.
func command(args []string) string {
	return strings.Join(append([]string{"go", "run", "."}, args...), " ")
}
