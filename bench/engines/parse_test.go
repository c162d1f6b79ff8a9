package engines

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"almanac/recurrence"
)

// Random expressions fire at the same instants in both engines. In a zone with
// daylight saving they differ around a change of the clock, by their own rules, so
// that those days are left out.
func TestCronAgrees(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(60, 5))
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	refused := 0
	for range 3000 {
		expr := randomCron(r)
		zone := zones[r.IntN(len(zones))]
		theirs, err := parser.Parse("CRON_TZ=" + zone + " " + expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		rule, err := recurrence.ParseCron("CRON_TZ=" + zone + " " + expr)
		if err != nil {
			refused++
			continue
		}
		anchor := time.Unix(1e9+r.Int64N(1e9), 0)
		ours, err := recurrence.New(rule, anchor)
		if err != nil {
			if next := theirs.Next(anchor); !next.IsZero() {
				t.Fatalf("%s: %v, but cron fires at %v", expr, err, next)
			}
			continue
		}
		for from, n := anchor, 0; n < 20; n++ {
			want := theirs.Next(from)
			if want.IsZero() { // more than five years ahead
				break
			}
			got, _ := ours.Next(from)
			if !got.Equal(want) && !nearChange(got, rule.Location) && !nearChange(want, rule.Location) {
				t.Fatalf("%s in %s, which is %s, after %v\ngot  %v\nwant %v", expr, zone, rule, from.UTC(), got, want.UTC())
			}
			from = want
		}
	}
	if refused > 1500 {
		t.Errorf("%d of 3000 expressions were refused", refused)
	}
}

// nearChange reports whether a zone's clock changes within a day of an instant.
func nearChange(at time.Time, loc *time.Location) bool {
	_, before := at.Add(-24 * time.Hour).In(loc).Zone()
	_, after := at.Add(24 * time.Hour).In(loc).Zone()
	return before != after
}

// randomCron returns an expression that robfig/cron takes.
func randomCron(r *rand.Rand) string {
	field := func(least, most int, names ...string) string {
		value := func() (int, string) {
			n := least + r.IntN(most-least+1)
			if len(names) > 0 && r.IntN(2) == 0 {
				return n, names[n-least]
			}
			return n, fmt.Sprint(n)
		}
		item := func() string {
			a, first := value()
			b, last := value()
			step := ""
			if r.IntN(3) == 0 {
				step = fmt.Sprintf("/%d", 1+r.IntN(most-1))
			}
			switch {
			case r.IntN(2) == 0:
				return first + step
			case a <= b:
				return first + "-" + last + step
			default:
				return last + "-" + first + step
			}
		}
		switch r.IntN(6) {
		case 0, 1, 2:
			return "*"
		case 3:
			return fmt.Sprintf("*/%d", 1+r.IntN(most-1))
		case 4:
			return item()
		default:
			return item() + "," + item() + "," + item()
		}
	}
	if r.IntN(20) == 0 {
		return []string{"@yearly", "@monthly", "@weekly", "@daily", "@hourly"}[r.IntN(5)]
	}
	expr := strings.Join([]string{
		field(0, 59), field(0, 23), field(1, 31),
		field(1, 12, "jan", "FEB", "mar", "Apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
		field(0, 6, "SUN", "mon", "Tue", "wed", "thu", "fri", "sat"),
	}, " ")
	if r.IntN(4) == 0 {
		return "0 " + expr
	}
	return expr
}
