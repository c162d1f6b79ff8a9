package engines

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"

	"almanac/recurrence"
	almanaccron "almanac/recurrence/cron"
	almanacrrule "almanac/recurrence/rrule"
)

var samples = flag.Int("samples", 3000, "how many random expressions and rules are compared with each engine")

// Random expressions fire at the same instants in both engines, but for those that joinsDays names. In a zone with
// daylight saving they differ around a change of the clock, by their own rules, so that those days are left out.
func TestCronAgrees(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(60, 5))
	parser := cron.NewParser(
		cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	refused := 0
	for range *samples {
		expr := randomCron(r)
		zone := zones[r.IntN(len(zones))]
		theirs, err := parser.Parse("CRON_TZ=" + zone + " " + expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		rule, err := almanaccron.Parse("CRON_TZ=" + zone + " " + expr)
		if err != nil || joinsDays(expr) {
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
				t.Fatalf("%s in %s, which is %s, after %v\ngot  %v\nwant %v", expr, zone, rule, from.UTC(), got,
					want.UTC())
			}
			from = want
		}
	}
	if refused > *samples/2 {
		t.Errorf("%d of %d expressions were refused", refused, *samples)
	}
}

// joinsDays reports whether both fields for days are restricted and one begins with an asterisk: as in Vixie's cron, a
// day has to be in both then, while robfig/cron takes days in either. See docs/cron.md.
func joinsDays(expr string) bool {
	all := strings.Fields(expr)
	if len(all) < 5 {
		return false
	}
	date, weekday := all[len(all)-3], all[len(all)-1]
	restricted := func(field string) bool { return field != "*" && field != "?" }
	return restricted(date) && restricted(weekday) && (date[0] == '*' || weekday[0] == '*')
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

// Random rules of RFC 5545 fire at the same instants in both engines.
func TestRRuleAgrees(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(55, 45))
	compared := 0
	for range *samples {
		text := randomRRule(r)
		set, err := rrule.StrToRRuleSet(text)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		rule, anchor, err := almanacrrule.Parse(text)
		if err != nil {
			continue
		}
		ours, err := recurrence.New(rule, anchor)
		if err != nil {
			continue
		}
		compared++
		var got []string
		for at := range ours.All() {
			if len(got) == 25 || at.Year() > 2060 {
				break
			}
			got = append(got, at.Format(time.RFC3339))
		}
		if want := firstOf(set); !slices.Equal(got, want) {
			t.Fatalf("%s\n%s\ngot  %v\nwant %v", text, ours, got, want)
		}
		written, err := almanacrrule.Format(ours)
		if err != nil {
			continue
		}
		if set, err = rrule.StrToRRuleSet(written); err != nil {
			t.Fatalf("%s\n%v", written, err)
		}
		if want := firstOf(set); !slices.Equal(got, want) {
			t.Fatalf("%s\n%s\n%s\ngot  %v\nwant %v", text, ours, written, got, want)
		}
	}
	if compared < *samples/3 {
		t.Errorf("only %d of %d rules were compared", compared, *samples)
	}
}

// firstOf returns some instants of a set.
func firstOf(set *rrule.Set) (all []string) {
	next := set.Iterator()
	for at, ok := next(); ok && len(all) < 25 && at.UTC().Year() <= 2060; at, ok = next() {
		all = append(all, at.UTC().Format(time.RFC3339))
	}
	return all
}

// randomRRule returns a rule and its start, in UTC.
func randomRRule(r *rand.Rand) string {
	start := time.Unix(1e9+r.Int64N(1e9), 0).UTC()
	if r.IntN(2) == 0 {
		start = start.Truncate(time.Minute)
	}
	frequency := []string{"MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"}[r.IntN(6)]
	parts := []string{"FREQ=" + frequency}
	numbers := func(name string, least, most int) {
		var list []string
		for range 1 + r.IntN(3) {
			list = append(list, fmt.Sprint(least+r.IntN(most-least+1)))
		}
		slices.Sort(list)
		parts = append(parts, name+"="+strings.Join(slices.Compact(list), ","))
	}
	if r.IntN(3) == 0 {
		parts = append(parts, fmt.Sprintf("INTERVAL=%d", 1+r.IntN(5)))
	}
	if r.IntN(5) == 0 {
		parts = append(parts, fmt.Sprintf("COUNT=%d", 1+r.IntN(30)))
	} else if r.IntN(5) == 0 {
		parts = append(parts, start.AddDate(r.IntN(5), r.IntN(12), 0).Format("UNTIL=20060102T150405Z"))
	}
	if r.IntN(4) == 0 {
		numbers("BYMONTH", 1, 12)
	}
	if r.IntN(4) == 0 && frequency != "WEEKLY" {
		least := 1
		if r.IntN(4) == 0 {
			least = -3
		}
		numbers("BYMONTHDAY", least, 31)
		parts[len(parts)-1] = strings.NewReplacer("=0,", "=1,", ",0", "", "=0", "=1").Replace(parts[len(parts)-1])
	}
	if r.IntN(3) == 0 {
		counted := r.IntN(2) == 0 && frequency == "MONTHLY" // to rrule-go, counted days and others together are none
		var days []string
		for range 1 + r.IntN(3) {
			day := []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}[r.IntN(7)]
			if counted {
				day = []string{"1", "2", "+3", "-1", "-2"}[r.IntN(5)] + day
			}
			days = append(days, day)
		}
		parts = append(parts, "BYDAY="+strings.Join(days, ","))
	}
	if r.IntN(4) == 0 {
		numbers("BYHOUR", 0, 23)
	}
	if r.IntN(4) == 0 {
		numbers("BYMINUTE", 0, 59)
		parts = append(parts, "BYSECOND=0")
	}
	return start.Format("DTSTART:20060102T150405Z") + "\nRRULE:" + strings.Join(parts, ";")
}
