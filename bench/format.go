package main

import (
	"fmt"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func formatDuration(d time.Duration) string { return formatMilliseconds(milliseconds(d)) }

func formatMilliseconds(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

func formatTenth(v float64) string { return fmt.Sprintf("%.1f", v) }

// formatCount writes a whole number such as 12,345.
func formatCount(v float64) string { return message.NewPrinter(language.English).Sprintf("%.0f", v) }

func formatMegabytes(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

func formatPercent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func formatFactor(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.2f ×", f)
	}
	return fmt.Sprintf("%.0f ×", f)
}

// countOf writes how many of something there are.
func countOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return formatCount(float64(n)) + " " + what
}
