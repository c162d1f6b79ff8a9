package engines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"almanac/recurrence"
	almanaccron "almanac/recurrence/cron"
	almanacrrule "almanac/recurrence/rrule"
)

// A question is one for testdata/engines.py.
type question struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Zone string `json:"zone,omitempty"`
	From int64  `json:"from,omitempty"`
	N    int    `json:"n"`

	ours *recurrence.Schedule // nil: it never fires
}

// asked returns what Python says; nil of one that it refuses. Without the module, the test is skipped.
func asked(t *testing.T, module string, all []question) [][]int64 {
	t.Helper()
	if exec.CommandContext(t.Context(), "python3", "-c", "import "+module+", zoneinfo").Run() != nil {
		t.Skip("there is no python3 with " + module + ", which is Debian's package python3-" + strings.TrimSuffix(module, ".rrule"))
	}
	var in, problems bytes.Buffer
	for _, q := range all {
		if err := json.NewEncoder(&in).Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "python3", "testdata/engines.py")
	command.Stdin, command.Stderr = &in, &problems
	out, err := command.Output()
	if err != nil {
		t.Fatal(err, problems.String())
	}
	answers := make([][]int64, 0, len(all))
	for line := range bytes.Lines(out) {
		var one []int64
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, one)
	}
	if len(answers) != len(all) {
		t.Fatalf("%d answers to %d questions", len(answers), len(all))
	}
	return answers
}

// compare fails where Python and a schedule differ, but within a day of a change of the clock.
func compare(t *testing.T, all []question, answers [][]int64, loc func(question) *time.Location) {
	t.Helper()
	refused, differ := 0, 0
	for i, q := range all {
		want := answers[i]
		if want == nil {
			refused++
			continue
		}
		from := time.Unix(q.From, 0)
		for n := range q.N {
			got, ok := time.Time{}, false
			if q.ours != nil {
				got, ok = q.ours.Next(from)
			}
			if n >= len(want) {
				if ok && got.Year() <= 2060 && q.Kind == "rrule" {
					t.Errorf("%s: got %v, and croniter and dateutil have no more", q.Text, got)
				}
				break
			}
			is := time.Unix(want[n], 0)
			if (!ok || !got.Equal(is)) && !nearChange(is, loc(q)) && (!ok || !nearChange(got, loc(q))) {
				if differ++; differ <= 5 {
					t.Errorf("%s in %s after %v\ngot  %v\nwant %v", q.Text, q.Zone, from.UTC(), got, is.UTC())
				}
				break
			}
			from = is
		}
	}
	t.Logf("%d compared, %d refused there", len(all)-refused, refused)
	if refused > len(all)/20 {
		t.Errorf("%d of %d were refused", refused, len(all))
	}
	if differ > 0 {
		t.Errorf("%d of %d differ", differ, len(all))
	}
}

func zoneOf(q question) *time.Location {
	loc, err := recurrence.LoadLocation(q.Zone)
	if err != nil {
		return time.UTC
	}
	return loc
}

// Random expressions fire at the same instants in croniter, and so do those that package cron writes for them. croniter
// takes days in both fields if it is told to do as cron does. Left out are days around a change of the clock.
func TestCronAgreesWithCroniter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 5))
	var all []question
	for range *samples {
		text, zone := fiveFields(r), zones[r.IntN(len(zones))]
		rule, err := almanaccron.Parse("CRON_TZ=" + zone + " " + text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		q := question{Kind: "cron", Text: text, Zone: zone, From: 1e9 + r.Int64N(1e9), N: 8}
		q.ours, _ = recurrence.New(rule, time.Unix(q.From, 0)) // nil: it never fires
		all = append(all, q)
		if r.IntN(2) == 0 {
			continue
		}
		if q.Text, err = almanaccron.Format(rule); err == nil {
			q.Text = lastOf(q.Text)
			all = append(all, q)
		}
	}
	compare(t, all, asked(t, "croniter", all), zoneOf)
}

// lastOf writes the last Friday as croniter does: L5 for FRIL.
func lastOf(text string) string {
	for i, day := range []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"} {
		text = strings.ReplaceAll(text, day+"L", fmt.Sprint("L", i))
	}
	return text
}

// single matches a range of one value, such as 20-20 or 2-FEB, which is every value to croniter, as 23/3 is for hours; see
// docs/cron.md.
var single = regexp.MustCompile(`(?i)\b(\w+)-(\w+)`)

func hasSingle(expr string) bool {
	number := strings.NewReplacer("jan", "1", "feb", "2", "mar", "3", "apr", "4", "may", "5", "jun", "6", "jul", "7", "aug", "8", "sep", "9",
		"oct", "10", "nov", "11", "dec", "12", "sun", "0", "mon", "1", "tue", "2", "wed", "3", "thu", "4", "fri", "5", "sat", "6")
	fields := strings.Fields(number.Replace(strings.ToLower(expr)))
	for i, field := range fields { // a step from the last value is a range of one value
		last := []string{"59/", "23/", "31/", "12/", "6/"}[i]
		if strings.HasPrefix(field, last) || strings.Contains(field, ","+last) {
			return true
		}
	}
	for _, m := range single.FindAllStringSubmatch(strings.ToLower(expr), -1) {
		if number.Replace(m[1]) == number.Replace(m[2]) {
			return true
		}
	}
	return false
}

// fiveFields returns an expression that both take and read alike.
func fiveFields(r *rand.Rand) string {
	for {
		expr := strings.Fields(randomCron(r))
		if len(expr) == 6 {
			expr = expr[1:]
		}
		if len(expr) == 5 && r.IntN(10) == 0 {
			expr[2] = "L"
		}
		if len(expr) == 5 && expr[2] == "*" && r.IntN(6) == 0 {
			expr[4] = fmt.Sprintf("%d#%d", r.IntN(7), 1+r.IntN(5))
		}
		if text := strings.Join(expr, " "); !hasSingle(text) {
			return text
		}
	}
}

// Random rules fire at the same instants in dateutil, and so do those that package rrule writes for them.
func TestRRuleAgreesWithDateutil(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(56, 45))
	var all []question
	for len(all) < *samples {
		text := randomRRule(r)
		rule, anchor, err := almanacrrule.Parse(text)
		if err != nil {
			continue
		}
		q := question{Kind: "rrule", Text: text, N: 20, From: anchor.Unix() - 1}
		if q.ours, err = recurrence.New(rule, anchor); err != nil {
			continue
		}
		all = append(all, q)
		if written, err := almanacrrule.Format(q.ours); err == nil && r.IntN(2) == 0 {
			q.Text = written
			all = append(all, q)
		}
	}
	compare(t, all, asked(t, "dateutil.rrule", all), zoneOf)
}
