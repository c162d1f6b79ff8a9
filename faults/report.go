//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"almanac/faults/laws"
)

// maxExamples is how many violations of a law are shown with their job's timeline.
const maxExamples = 20

// writeReport writes what a run came to, for a person.
func writeReport(w io.Writer, l *laws.Log, v *laws.Verdict) {
	f := v.Figures
	fmt.Fprintf(w, "seed %d, form %s, from %s to %s\n", l.Run.Seed, l.Run.Form, l.Run.Loaded.Format(time.RFC3339), l.Run.Frozen.Format(time.RFC3339))
	fmt.Fprintf(w, "%d lives of jobs, %d executions, %d requests, %d entries in histories, %d changes, %d faults, %d histories replayed, catch-up of %d idle jobs checked\n\n",
		f.Jobs, f.Executions, f.Requests, f.Attempts, len(l.Changes), len(l.Faults), l.Run.Histories, f.Downtimes)

	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "law\tviolations\texcused")
	for _, law := range laws.All {
		fmt.Fprintf(table, "%s\t%d\t%d\n", law, count(v.Violations, law), count(v.Excused, law))
	}
	_ = table.Flush()

	fmt.Fprintf(w, "\nHow late occurrences were sent, by the last fault in the %s before\n", "90 s")
	writeSamples(w, f.Lateness, false)
	fmt.Fprintln(w, "\nHow long changes waited for their answer")
	writeSamples(w, f.Answers, true)

	fmt.Fprintln(w, "\nFaults")
	for i := range l.Faults {
		f := &l.Faults[i]
		fmt.Fprintf(w, "  %s %s", f, f.Job)
		if !f.Gone.IsZero() {
			fmt.Fprintf(w, ", gone after %s", f.Gone.Sub(f.Start).Round(10*time.Millisecond))
		}
		fmt.Fprintln(w)
	}
	for _, law := range laws.All {
		writeExamples(w, l, law, v.Violations)
	}
	writeExcuses(w, v.Excused)
	writeExcused(w, v.Excused)
}

func count(all []laws.Violation, law string) int {
	n := 0
	for _, v := range all {
		if v.Law == law {
			n++
		}
	}
	return n
}

func writeSamples(w io.Writer, all []laws.Sample, answers bool) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "  n\tp50\tp99\tmax\t"
	if answers {
		head += "unanswered\tof these in an outage\t"
	}
	fmt.Fprintln(table, head+" ")
	for _, s := range all {
		fmt.Fprintf(table, "  %d\t%s\t%s\t%s\t", s.N, round(s.P50), round(s.P99), round(s.Max))
		if answers {
			fmt.Fprintf(table, "%d\t%d\t", s.Unanswered, s.Outage)
		}
		fmt.Fprintf(table, "  %s\n", s.Name)
	}
	_ = table.Flush()
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// writeExamples shows the first violations of a law, each with what happened to
// its job at that time.
func writeExamples(w io.Writer, l *laws.Log, law string, all []laws.Violation) {
	shown := 0
	for _, v := range all {
		if v.Law != law {
			continue
		}
		if shown++; shown > maxExamples {
			fmt.Fprintf(w, "  … and %d more\n", count(all, law)-maxExamples)
			return
		}
		if shown == 1 {
			fmt.Fprintf(w, "\n%s\n", law)
		}
		fmt.Fprintf(w, "  %s  %s\n", v.Job, v.Text)
		for _, line := range laws.Timeline(l, v.Job, v.At) {
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
}

// writeExcuses shows how much each kind of fault excuses.
func writeExcuses(w io.Writer, all []laws.Violation) {
	counts := map[string]int{}
	for _, v := range all {
		if v.Law != laws.Unanswered { // these only say how long outages were
			counts[v.Law+"\t"+v.By]++
		}
	}
	fmt.Fprintln(w, "\nWhat was excused, by the fault that explains it")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(table, "  %s\t%d\n", name, counts[name])
	}
	_ = table.Flush()
}

// maxExcused is how many of what was excused are shown for each law.
const maxExcused = 5

// writeExcused shows the first of what a fault or the tolerance explains.
func writeExcused(w io.Writer, all []laws.Violation) {
	for _, law := range laws.All {
		shown := 0
		for _, v := range all {
			if v.Law != law || law == laws.Unanswered {
				continue
			}
			if shown++; shown == 1 {
				fmt.Fprintf(w, "\nexcused: %s (%d)\n", law, count(all, law))
			}
			if shown <= maxExcused {
				fmt.Fprintf(w, "  %s  %s\n", v.Job, v.Text)
			}
		}
	}
}

// writeLogs writes all logs to a directory.
func writeLogs(dir string, l *laws.Log) error {
	return errors.Join(
		writeLines(dir, "run", []laws.Run{l.Run}), writeLines(dir, "requests", l.Requests), writeLines(dir, "changes", l.Changes),
		writeLines(dir, "faults", l.Faults), writeLines(dir, "reads", l.Reads), writeLines(dir, "lists", l.Lists), writeLines(dir, "replays", l.Replays),
	)
}

// writeVerdict writes the report and what it is made of to a directory.
func writeVerdict(dir string, report []byte, v *laws.Verdict) error {
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "report.txt"), report, 0o644),
		writeLines(dir, "violations", v.Violations), writeLines(dir, "excused", v.Excused),
	)
}

func writeLines[T any](dir, name string, all []T) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, one := range all {
		if err := e.Encode(one); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, name+".jsonl"), b.Bytes(), 0o644)
}

// readLogs reads what writeLogs wrote, so that it can be checked again.
func readLogs(dir string) (*laws.Log, error) {
	var l laws.Log
	var run []laws.Run
	err := errors.Join(
		readLines(dir, "run", &run), readLines(dir, "requests", &l.Requests), readLines(dir, "changes", &l.Changes),
		readLines(dir, "faults", &l.Faults), readLines(dir, "reads", &l.Reads), readLines(dir, "lists", &l.Lists), readLines(dir, "replays", &l.Replays),
	)
	if err == nil && len(run) != 1 {
		err = fmt.Errorf("%s has %d runs, one is right", filepath.Join(dir, "run.jsonl"), len(run))
	}
	if err != nil {
		return nil, err
	}
	l.Run = run[0]
	return &l, nil
}

func readLines[T any](dir, name string, into *[]T) error {
	text, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for d.More() {
		var one T
		if err := d.Decode(&one); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*into = append(*into, one)
	}
	*into = slices.Clip(*into)
	return nil
}
