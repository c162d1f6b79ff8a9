package recurrence_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"almanac/recurrence"
)

// zoneNames are the zones of the random rules: both hemispheres, shifts of half an hour and of whole days,
// odd and negative offsets, and UTC.
var zoneNames = []string{
	"UTC", "Europe/Stockholm", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu",
	"Pacific/Apia", "Pacific/Kwajalein", "Africa/Casablanca", "Europe/Dublin", "America/St_Johns", "Asia/Beirut",
	"America/Havana", "Africa/Monrovia", "Pacific/Chatham", "Antarctica/Troll", "America/Juneau", "Asia/Manila",
	"Africa/Cairo", "America/Scoresbysund", "Europe/Amsterdam", "Pacific/Kiritimati", "Asia/Tehran", "Asia/Gaza",
}

// A sample is a rule as numbers, chosen by a random source or a fuzzer.
type sample struct {
	frequency, zone   uint8
	interval          uint16
	minutes, days     uint64 // bits: minutes; days 1 to 31 and, from bit 32, -1 to -31
	hours             uint32
	weekDays          uint8
	months            uint16
	occurrences       uint32 // four of eight bits each: weekday and, from bit 3, occurrence + 5
	start, now, probe int64
}

// rule returns the rule of a sample and its anchor.
func (s sample) rule(t testing.TB) (recurrence.Rule, time.Time) {
	t.Helper()
	r := recurrence.Rule{
		Frequency: recurrence.Minute + recurrence.Frequency(s.frequency%6),
		Location:  load(t, zoneNames[int(s.zone)%len(zoneNames)]),
		Minutes:   members(s.minutes&(1<<60-1), 0),
		Hours:     members(uint64(s.hours&(1<<24-1)), 0),
	}
	longest := []int{1000, 1000, 548, 78, 18, 30}[s.frequency%6]
	r.Interval = int(s.interval) % (longest + 1)
	if r.Frequency == recurrence.Week {
		for _, d := range members(uint64(s.weekDays&127), 0) {
			r.WeekDays = append(r.WeekDays, time.Weekday(d))
		}
	}
	if r.Frequency == recurrence.Month {
		r.MonthDays = members(s.days&(1<<31-1), 1)
		for _, d := range members(s.days>>32&(1<<31-1), 1) {
			r.MonthDays = append(r.MonthDays, -d)
		}
		for o := s.occurrences; o != 0; o >>= 8 {
			r.MonthlyOccurrences = append(r.MonthlyOccurrences,
				recurrence.MonthlyOccurrence{Day: time.Weekday(o & 7 % 7), Occurrence: int(o>>3&31)%11 - 5})
		}
	}
	if r.Frequency >= recurrence.Month {
		r.Months = members(uint64(s.months&(1<<12-1)), 1)
	}
	return r, time.Unix(s.unix(s.start), 0).UTC()
}

// unix returns an instant between the years 1800 and 2200.
func (s sample) unix(n int64) int64 { return int64(uint64(n)%(400*31556952)) - 5364662400 }

func members(set uint64, first int) (list []int) {
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set)+first)
	}
	return list
}

// randomSample draws a sample. Its lists are often short, and its times often near a clock change of the
// zone.
func randomSample(t testing.TB, r *rand.Rand) sample {
	bit := func() uint64 { return 1 << r.IntN(64) }
	sparse := func() uint64 {
		switch r.IntN(5) {
		case 0, 1:
			return 0
		case 2:
			return bit()
		case 3:
			a, b, c := bit(), bit(), bit()
			return a | b | c
		default:
			return r.Uint64() & r.Uint64()
		}
	}
	s := sample{
		frequency: uint8(r.IntN(6)), zone: uint8(r.IntN(len(zoneNames))), interval: uint16(r.IntN(3)),
		minutes: sparse(), days: sparse(), hours: uint32(sparse() >> 20), weekDays: uint8(sparse() >> 5), months: uint16(sparse() >> 7),
	}
	if r.IntN(3) == 0 {
		s.interval = uint16(r.IntN(1001))
	}
	if r.IntN(3) == 0 {
		s.occurrences = r.Uint32() >> (8 * r.IntN(4))
	}
	const since1800 = 5364662400
	loc := load(t, zoneNames[s.zone])
	when := func() int64 {
		at := time.Unix(r.Int64N(400*31556952)-since1800, 0).In(loc)
		if change, _ := at.ZoneBounds(); !change.IsZero() && change.Year() > 1801 && r.IntN(4) > 0 {
			at = change.Add(time.Duration(r.IntN(4*3600)-2*3600) * time.Second)
			if r.IntN(4) == 0 {
				at = at.Add(time.Duration(r.IntN(49)-24) * time.Hour)
			}
		}
		return at.Unix() + since1800
	}
	s.start, s.now, s.probe = when(), when(), when()
	if r.IntN(2) == 0 {
		s.start = s.now + r.Int64N(7200) - 3600
	}
	return s
}

// TestAgainstOracle compares the schedules of random rules with the oracle.
// samples returns how many rules are compared, few in a short test: the package has no goroutines that could race.
func samples() int {
	if testing.Short() {
		return 100
	}
	return 1500
}

func TestAgainstOracle(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20150408, 1300))
	for n := range samples() {
		s := randomSample(t, r)
		if !checkSample(t, s) {
			t.Fatalf("sample %d: %+v", n, s)
		}
	}
}

func FuzzAgainstOracle(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		s := randomSample(f, r)
		f.Add(s.frequency, s.zone, s.interval, s.minutes, s.days, s.hours, s.weekDays, s.months, s.occurrences, s.start, s.now, s.probe)
	}
	f.Fuzz(func(t *testing.T, frequency, zone uint8, interval uint16, minutes, days uint64, hours uint32, weekDays uint8, months uint16, occurrences uint32, start, now, probe int64) {
		checkSample(t, sample{frequency, zone, interval, minutes, days, hours, weekDays, months, occurrences, start, now, probe})
	})
}

// checkSample reports whether the package and the oracle agree on a sample.
func checkSample(t *testing.T, s sample) bool {
	t.Helper()
	rule, anchor := s.rule(t)
	return checkRule(t, rule, anchor, s)
}

// withFurtherFields adds to a rule what JSON lacks.
func withFurtherFields(rule recurrence.Rule, r *rand.Rand, near int) recurrence.Rule {
	numbers := func() (list []int) {
		for range r.IntN(3) {
			n := 1 + r.IntN(31)
			if r.IntN(2) == 0 {
				n = -(1 + r.IntN(5))
			}
			list = append(list, n)
		}
		return list
	}
	if rule.Frequency == recurrence.Month {
		rule.NearestWeekdays, rule.EitherDay = numbers(), r.IntN(2) == 0
		if r.IntN(2) == 0 {
			rule.Positions = numbers()
		}
	}
	rule.EveryPass = rule.Frequency > recurrence.Hour && len(rule.Hours)+len(rule.Minutes) > 0 && r.IntN(2) == 0
	if r.IntN(4) == 0 {
		for range 1 + r.IntN(3) {
			rule.Years = append(rule.Years, max(1, near-1+r.IntN(4)))
		}
	}
	return rule
}

// TestFurtherFieldsAgainstOracle is TestAgainstOracle with the fields of a rule that JSON lacks.
func TestFurtherFieldsAgainstOracle(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2026, 1127))
	for n := range samples() {
		s := randomSample(t, r)
		s.frequency = uint8(n % 6)
		if n%2 == 0 {
			s.frequency = uint8(recurrence.Month - recurrence.Minute)
		}
		rule, anchor := s.rule(t)
		rule = withFurtherFields(rule, r, time.Unix(max(anchor.Unix(), s.unix(s.now)), 0).Year())
		if !checkRule(t, rule, anchor, s) {
			t.Fatalf("sample %d: %+v", n, s)
		}
	}
}

// checkRule reports whether the package and the oracle agree on a rule, near the times of a sample.
func checkRule(t *testing.T, rule recurrence.Rule, anchor time.Time, s sample) bool {
	t.Helper()
	o := newOracle(&rule, anchor)
	later := max(anchor.Unix(), s.unix(s.now))

	schedule, err := recurrence.New(rule, anchor)
	if err != nil {
		if found := o.grid(later, later+o.patience()); len(found) > 0 {
			t.Errorf("%s\n%v\nbut the oracle knows %v", describe(rule, anchor), err, times(found[0]))
			return false
		}
		return true
	}

	// Compare around the anchor and two other times, and before and after the next instant that the schedule
	// returns.
	froms := []int64{anchor.Unix() - 60, later - 60, max(anchor.Unix(), s.unix(s.probe))}
	if next, ok := schedule.Next(time.Unix(froms[2], 0)); ok {
		froms = append(froms, next.Unix()-o.window()/2)
	}
	for _, from := range froms {
		until := from + o.window()
		got := between(schedule, from, until)
		if !same(t, rule, anchor, got, o.grid(from, until)) || !samePrev(t, schedule, got) {
			return false
		}
	}
	return true
}

// samePrev reports whether Prev returns the same instants backwards, up to ten of them.
func samePrev(t *testing.T, s *recurrence.Schedule, all []int64) bool {
	t.Helper()
	for i := 1; i < min(len(all), 10); i++ {
		if prev, ok := s.Prev(time.Unix(all[i], 0)); !ok || prev.Unix() != all[i-1] {
			t.Errorf("%s\nbefore %v: got %v, %v, want %v", s, times(all[i]), prev, ok, times(all[i-1]))
			return false
		}
	}
	return true
}

// window is the number of seconds of grid to compare, and patience the number for a refused rule. Both
// depend on the oracle's cost.
func (o oracle) window() int64 {
	const hour, day = 3600, 86400
	switch {
	case o.rule.Frequency <= recurrence.Hour && o.anchor < 94694400:
		return 3 * hour * int64(min(o.every, 40))
	case o.rule.Frequency <= recurrence.Hour:
		return 30 * hour * int64(min(o.every, 60))
	case len(o.times()) > 24:
		return 3 * day * int64(min(o.every, 40))
	default:
		return 40 * day * int64(min(o.every, 18))
	}
}

func (o oracle) patience() int64 {
	const year = 365 * 86400
	switch {
	case o.rule.Frequency > recurrence.Hour:
		return 99 * year
	case o.every > 100:
		return 10 * year
	default:
		return year / 4
	}
}

// between collects the instants of a schedule from from to until, both included.
func between(s *recurrence.Schedule, from, until int64) (all []int64) {
	for next := range s.Between(time.Unix(from, 0), time.Unix(until+1, 0)) {
		all = append(all, next.Unix())
	}
	return all
}

func same(t *testing.T, rule recurrence.Rule, anchor time.Time, got, want []int64) bool {
	t.Helper()
	if slices.Equal(got, want) {
		return true
	}
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	t.Errorf("%s\ndiffers at %d: got %v, want %v", describe(rule, anchor), n,
		times(got[n:min(n+4, len(got))]...), times(want[n:min(n+4, len(want))]...))
	return false
}

func describe(rule recurrence.Rule, anchor time.Time) string {
	type plain recurrence.Rule // without its String method
	return fmt.Sprintf("%s: %+v", rule.Describe(anchor), plain(rule))
}

func times(unix ...int64) (all []string) {
	for _, t := range unix {
		all = append(all, time.Unix(t, 0).UTC().Format(time.RFC3339))
	}
	return all
}

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := recurrence.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
