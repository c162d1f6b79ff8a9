package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
	"almanac/lab/report"
)

// maxExamples is how many violations of a law are shown with their job's timeline.
const maxExamples = 20

// reportText returns the report of a run for a person.
func reportText(l *record.Log, v *checker.Verdict) []byte {
	w := &bytes.Buffer{}
	f := summarize(l)
	fmt.Fprintf(w, "# Seed %d, form %s, from %s to %s\n\n", l.Run.Seed, l.Run.Form, l.Run.Loaded.Format(time.RFC3339),
		l.Run.Frozen.Format(time.RFC3339))
	fmt.Fprintf(w, "%d incarnations of jobs, %d executions, %d requests, %d entries in histories, %d changes, %d "+
		"faults, ",
		f.jobs, f.executions, len(l.Requests), f.entries, len(l.Changes), len(l.Faults))
	fmt.Fprintf(w, "%d histories replayed, catch-up of %d idle jobs checked\n\n", l.Run.Histories, v.Downtimes)
	fmt.Fprint(w, lawTable(v))
	fmt.Fprintln(w, "\n## How late occurrences were sent, by the last fault in the 90 s before")
	writeSamples(w, f.lateness)
	fmt.Fprintln(w, "\n## How long changes waited for their answer")
	writeAnswers(w, f.answers)
	writeFaults(w, l.Faults)
	for _, law := range checker.Laws {
		writeExamples(w, l, law, of(law, v.Violations))
	}
	writeExcusedCounts(w, v.Excused)
	writeExcused(w, v.Excused)
	return w.Bytes()
}

// lawTable says how often each law was violated.
func lawTable(v *checker.Verdict) string {
	var rows [][]string
	for _, law := range checker.Laws {
		rows = append(rows, []string{law, fmt.Sprint(len(of(law, v.Violations))), fmt.Sprint(len(of(law, v.Excused)))})
	}
	return report.Table(rows, "law", "violations", "excused")
}

func writeFaults(w io.Writer, all []record.Fault) {
	fmt.Fprint(w, "\n## Faults\n\n")
	for i := range all {
		f := &all[i]
		fmt.Fprintf(w, "- %s %s", f, f.Job)
		if !f.Gone.IsZero() {
			fmt.Fprintf(w, ", gone after %s", report.Duration(f.Gone.Sub(f.Start)))
		}
		fmt.Fprintln(w)
	}
}

// writeReport writes the report and the verdict to files in a directory.
func writeReport(dir string, text []byte, v *checker.Verdict) error {
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "report.md"), text, 0o644),
		record.WriteLines(dir, "violations", v.Violations), record.WriteLines(dir, "excused", v.Excused),
	)
}

// of returns the violations of a law.
func of(law string, all []checker.Violation) []checker.Violation {
	return slices.DeleteFunc(slices.Clone(all), func(v checker.Violation) bool { return v.Law != law })
}

// writeSamples writes a table of samples.
func writeSamples(w io.Writer, all []sample) {
	var rows [][]string
	for _, s := range all {
		rows = append(rows, append([]string{s.name, report.Count(float64(s.N))}, s.Cells()...))
	}
	fmt.Fprint(w, "\n", report.Table(rows, "", "n", "p50", "p99", "max"))
}

// writeAnswers writes a table of samples of changes.
func writeAnswers(w io.Writer, all []sample) {
	var rows [][]string
	for _, s := range all {
		rows = append(rows, slices.Concat([]string{s.name, report.Count(float64(s.N))}, s.Cells(),
			[]string{fmt.Sprint(s.unanswered), fmt.Sprint(s.outage)}))
	}
	fmt.Fprint(w, "\n", report.Table(rows, "", "n", "p50", "p99", "max", "unanswered", "of these in an outage"))
}

// writeExamples writes the first violations of a law, each with the timeline of its job.
func writeExamples(w io.Writer, l *record.Log, law string, all []checker.Violation) {
	if len(all) > 0 {
		fmt.Fprintf(w, "\n## %s\n\n", law)
	}
	for _, v := range all[:min(len(all), maxExamples)] {
		fmt.Fprintf(w, "- %s  %s\n", v.Job, v.Text)
		for _, line := range timelineOf(l, v.Job, v.At) {
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
	if len(all) > maxExamples {
		fmt.Fprintf(w, "- … and %d more\n", len(all)-maxExamples)
	}
}

// writeExcusedCounts writes how much each class of fault excuses.
func writeExcusedCounts(w io.Writer, all []checker.Violation) {
	counts := map[[2]string]int{} // by law and class
	for _, v := range all {
		if v.Law != checker.Unanswered { // their number shows only how long outages were
			counts[[2]string{v.Law, v.By}]++
		}
	}
	var rows [][]string
	for _, name := range slices.SortedFunc(maps.Keys(counts),
		func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		rows = append(rows, []string{name[0], name[1], fmt.Sprint(counts[name])})
	}
	fmt.Fprint(w, "\n## What was excused, by the fault that explains it\n\n",
		report.Table(rows, "law", "fault", "excused"))
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
		fmt.Fprintf(w, "\n## Excused: %s (%d)\n\n", law, len(excused))
		for _, v := range excused[:min(len(excused), maxExcused)] {
			fmt.Fprintf(w, "- %s  %s\n", v.Job, v.Text)
		}
	}
}
