// Package report writes the report of a run: its figures, the violations with timelines, and what was excused.
package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"almanac/faults/checker"
	"almanac/faults/record"
)

// maxExamples is how many violations of a law are shown with their job's timeline.
const maxExamples = 20

// Text returns the report of a run for a person.
func Text(l *record.Log, v *checker.Verdict) []byte {
	w := &bytes.Buffer{}
	f := Summarize(l)
	fmt.Fprintf(w, "seed %d, form %s, from %s to %s\n", l.Run.Seed, l.Run.Form, l.Run.Loaded.Format(time.RFC3339), l.Run.Frozen.Format(time.RFC3339))
	fmt.Fprintf(w, "%d incarnations of jobs, %d executions, %d requests, %d entries in histories, %d changes, %d faults, %d histories replayed, catch-up of %d idle jobs checked\n\n",
		f.Jobs, f.Executions, len(l.Requests), f.Entries, len(l.Changes), len(l.Faults), l.Run.Histories, v.Downtimes)

	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "law\tviolations\texcused")
	for _, law := range checker.Laws {
		fmt.Fprintf(table, "%s\t%d\t%d\n", law, len(of(law, v.Violations)), len(of(law, v.Excused)))
	}
	_ = table.Flush()

	fmt.Fprintln(w, "\nHow late occurrences were sent, by the last fault in the 90 s before")
	WriteSamples(w, f.Lateness)
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
	for _, law := range checker.Laws {
		writeExamples(w, l, law, of(law, v.Violations))
	}
	writeExcusedCounts(w, v.Excused)
	writeExcused(w, v.Excused)
	return w.Bytes()
}

// Write writes the report and the verdict to files in a directory.
func Write(dir string, text []byte, v *checker.Verdict) error {
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "report.txt"), text, 0o644),
		record.WriteLines(dir, "violations", v.Violations), record.WriteLines(dir, "excused", v.Excused),
	)
}

// of returns the violations of a law.
func of(law string, all []checker.Violation) []checker.Violation {
	return slices.DeleteFunc(slices.Clone(all), func(v checker.Violation) bool { return v.Law != law })
}

// WriteSamples writes a table of samples.
func WriteSamples(w io.Writer, all []Sample) { writeSamples(w, all, false) }

func writeSamples(w io.Writer, all []Sample, answers bool) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "  n\tp50\tp99\tmax\t"
	if answers {
		head += "unanswered\tof these in an outage\t"
	}
	fmt.Fprintln(table, head+" ")
	for _, s := range all {
		fmt.Fprintf(table, "  %d\t%s\t%s\t%s\t", s.N, Round(s.P50), Round(s.P99), Round(s.Max))
		if answers {
			fmt.Fprintf(table, "%d\t%d\t", s.Unanswered, s.Outage)
		}
		fmt.Fprintf(table, "  %s\n", s.Name)
	}
	_ = table.Flush()
}

// Round rounds a duration for a reader.
func Round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// writeExamples writes the first violations of a law, each with the timeline of its job.
func writeExamples(w io.Writer, l *record.Log, law string, all []checker.Violation) {
	if len(all) > 0 {
		fmt.Fprintf(w, "\n%s\n", law)
	}
	for _, v := range all[:min(len(all), maxExamples)] {
		fmt.Fprintf(w, "  %s  %s\n", v.Job, v.Text)
		for _, line := range Timeline(l, v.Job, v.At) {
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
	if len(all) > maxExamples {
		fmt.Fprintf(w, "  … and %d more\n", len(all)-maxExamples)
	}
}

// writeExcusedCounts writes how much each class of fault excuses.
func writeExcusedCounts(w io.Writer, all []checker.Violation) {
	counts := map[string]int{}
	for _, v := range all {
		if v.Law != checker.Unanswered { // their number shows only how long outages were
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

// maxExcused is how many excused violations of a law are shown.
const maxExcused = 5

// writeExcused writes the first excused violations of each law.
func writeExcused(w io.Writer, all []checker.Violation) {
	for _, law := range checker.Laws {
		excused := of(law, all)
		if len(excused) == 0 || law == checker.Unanswered {
			continue
		}
		fmt.Fprintf(w, "\nexcused: %s (%d)\n", law, len(excused))
		for _, v := range excused[:min(len(excused), maxExcused)] {
			fmt.Fprintf(w, "  %s  %s\n", v.Job, v.Text)
		}
	}
}
