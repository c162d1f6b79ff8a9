// Package report writes figures for people: tables in Markdown that can be read as text as well, distributions of
// times, and numbers with their units.
package report

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Table returns a table in Markdown, with the columns aligned for those who read it as text. Markdown shows all columns
// but the first flush right.
func Table(rows [][]string, head ...string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| %s\t|\n|---%s\t|\n", strings.Join(head, "\t| "), strings.Repeat("\t|--:", len(head)-1))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s\t|\n", strings.Join(row, "\t| "))
	}
	_ = w.Flush() // writing to a builder never fails
	return b.String()
}

// A Spread sums up durations.
type Spread struct {
	N             int
	P50, P99, Max time.Duration
}

// SpreadOf sorts durations and sums them up; of none, all is zero. A percentile is the smallest value that so many per
// cent of all do not exceed (the nearest-rank method).
func SpreadOf(d []time.Duration) Spread {
	n := len(d)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(d)
	percentile := func(p int) time.Duration { return d[(p*n+99)/100-1] }
	return Spread{n, percentile(50), percentile(99), d[n-1]}
}

// Cells returns p50, p99 and the maximum.
func (s Spread) Cells() []string { return []string{Duration(s.P50), Duration(s.P99), Duration(s.Max)} }

// Median returns the median of at least one value: of an even number, the mean of the two in the middle.
func Median[T ~int64 | ~float64](values []T) T {
	n, sorted := len(values), slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// InMilliseconds returns d in milliseconds.
func InMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Duration writes a duration as [Milliseconds] does.
func Duration(d time.Duration) string { return Milliseconds(InMilliseconds(d)) }

// Milliseconds writes milliseconds, as seconds from 1,000 on.
func Milliseconds(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// Tenth writes a number with one decimal.
func Tenth(v float64) string { return fmt.Sprintf("%.1f", v) }

// Count writes a whole number such as 12,345.
func Count(v float64) string { return message.NewPrinter(language.English).Sprintf("%.0f", v) }

// Megabytes writes bytes as megabytes.
func Megabytes(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

// Percent writes a share of 1 in per cent.
func Percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// Factor writes a factor such as 2.50 ×.
func Factor(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.2f ×", f)
	}
	return fmt.Sprintf("%.0f ×", f)
}

// CountOf writes how many of something there are.
func CountOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return Count(float64(n)) + " " + what
}
