package cron_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"almanac/recurrence"
	"almanac/recurrence/cron"
)

func TestFormatWritesWhatParseReads(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{
		"0 9 * * *", "0 9 * * 1-5", "0 9 13 * FRI", "0 9 15W * *", "0 9 LW,L-2 * *", "0 9 * * FRI#2,MONL", "30 * * * *", "0 */6 1 1,7 *",
		"quartz: 0 0 9 15W * ? 2026-2028", "quartz: 0 30 9 ? * FRI#1 2027", "0 9 L-3W 2 *", "0 */5 * * *",
	} {
		rule, err := cron.Parse(expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		text, err := cron.Format(rule)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		back, err := cron.Parse(text)
		if err != nil || back.String() != rule.String() || back.EveryPass != rule.EveryPass {
			t.Errorf("%s is written as %s, which is %s (%v)", expr, text, back, err)
		}
	}
	r := rand.New(rand.NewPCG(3, 9))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range 2000 {
		expr := strings.Join([]string{
			pick("0", "5,35", "*/20", "*"), pick("*", "9", "*/3", "1-5", "0,12"), pick("*", "1", "L", "15W", "1,15", "L-2"), pick("*", "2", "1-3"), pick("*", "MON", "5#1", "FRIL", "1-5"),
		}, " ")
		rule, err := cron.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		text, err := cron.Format(rule)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		if back, err := cron.Parse(text); err != nil || fmt.Sprint(back) != fmt.Sprint(rule) {
			t.Fatalf("%s is written as %s", expr, text)
		}
	}
	for _, rule := range []recurrence.Rule{{Frequency: recurrence.Day}, {Frequency: recurrence.Day, Interval: 2, Hours: []int{9}, Minutes: []int{0}}, {}} {
		if text, err := cron.Format(rule); err == nil {
			t.Errorf("%s is written as %s", rule, text)
		}
	}
}
