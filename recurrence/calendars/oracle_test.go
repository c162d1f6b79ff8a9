package calendars_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"almanac/recurrence/calendars"
)

var (
	oracleJobs = flag.Int("oracle", 300, "how many random jobs are compared with the oracle in Python")
	oracleSeed = flag.Uint64("oracle-seed", 2026, "which random jobs are compared with the oracle in Python")
)

// TestAgainstTheOracleInPython compares random jobs with a second implementation, in Python.
func TestAgainstTheOracleInPython(t *testing.T) {
	t.Parallel()
	const python = "python3"
	if exec.CommandContext(t.Context(), python, "-c", "import sys, zoneinfo; sys.exit(sys.version_info < (3, 9))").Run() != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the oracle needs python3, 3.9 or later")
		}
		t.Skip("the oracle needs python3, 3.9 or later")
	}
	r := rand.New(rand.NewPCG(47, *oracleSeed))
	var questions bytes.Buffer
	var all [][]byte
	for i := range *oracleJobs {
		line, err := json.Marshal(randomJob(r, i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
		questions.Write(append(line, '\n'))
	}
	command := exec.CommandContext(t.Context(), python, "testdata/oracle.py")
	command.Stdin, command.Stderr = &questions, os.Stderr
	command.Env = append(os.Environ(), "PYTHONTZPATH="+unpacked(t))
	answers, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(answers), []byte("\n"))
	if len(lines) != len(all) {
		t.Fatalf("%d answers to %d questions", len(lines), len(all))
	}
	entries, differ := 0, 0
	for i, line := range lines {
		var v vector
		var want answer
		if err := json.Unmarshal(all[i], &v); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		got := v.run((*calendars.Plan).Change)
		if got.Error != "" && strings.HasPrefix(got.Error, "recurrence") {
			continue // a rule that never fires
		}
		entries += len(got.Plan)
		got.Done, want.Done = false, false
		if a, b := got.text(&v), want.text(&v); a != b {
			if differ++; differ <= 3 {
				t.Errorf("%s\ngot:\n%s\nwant:\n%s", all[i], without(a, b), without(b, a))
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d jobs differ", differ, len(all))
	}
	t.Logf("%d jobs with %d occurrences", len(all), entries)
}

// without returns the lines of a text that another has not.
func without(text, other string) string {
	var all []string
	for line := range strings.Lines(text) {
		if !strings.Contains(other, line) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return strings.Join(all, "\n")
}

// unpacked returns a directory with the time zones that the program has.
func unpacked(t *testing.T) string {
	t.Helper()
	archive, err := zip.OpenReader("../tzdata/zoneinfo.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	directory := t.TempDir()
	for _, f := range archive.File {
		name := filepath.Join(directory, filepath.FromSlash(f.Name))
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = os.WriteFile(name, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

type members = map[string]any

// randomJob returns a job: a rule, calendars, policies, a zone, a horizon, exclusions and blackouts.
func randomJob(r *rand.Rand, n int) members {
	zone := pick(r, "UTC", "Europe/Stockholm", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Pacific/Kiritimati", "America/Sao_Paulo", "Africa/Cairo")
	now := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(2)*20, 0, time.UTC)
	uses, tables := randomCalendars(r, now)
	recurrence := randomRecurrence(r)
	recurrence["timeZone"], recurrence["calendars"] = zone, uses
	frequency := recurrence["frequency"].(string)
	elapsed := frequency == "minute" || frequency == "hour"
	if elapsed {
		for _, use := range uses {
			use["onMatch"] = pick(r, "skip", "only")
		}
	} else if frequency == "month" && r.IntN(6) == 0 {
		recurrence["schedule"] = members{"workingDays": []int{pick(r, 1, 2, 5, -1, -3, 20), pick(r, 1, 3, -1)}, "hours": []int{r.IntN(24)}}
	}
	if r.IntN(4) == 0 && !elapsed {
		more := randomRecurrence(r)
		if more["frequency"] != "minute" && more["frequency"] != "hour" {
			recurrence["also"] = []members{more}
		}
	}
	if r.IntN(3) == 0 {
		recurrence["exclusions"] = randomExclusions(r, now)
	}
	properties := members{"recurrence": recurrence}
	if r.IntN(5) > 0 {
		properties["startTime"] = now.AddDate(0, 0, r.IntN(200)-150).Format("2006-01-02T") + fmt.Sprintf("%02d:%02d", r.IntN(24), pick(r, 0, 30, 59))
	}
	if r.IntN(5) == 0 {
		recurrence["endTime"] = now.AddDate(0, 0, r.IntN(300)).Format("2006-01-02T15:04:05Z")
	}
	days := 400
	if elapsed {
		days = 3
	}
	if r.IntN(3) == 0 {
		properties["blackouts"] = randomBlackouts(r, now, elapsed)
	}
	return members{
		"id": fmt.Sprint(n), "now": now.Format("2006-01-02T15:04:05Z"), "until": now.AddDate(0, 0, 1+r.IntN(days)).Format("2006-01-02T15:04:05Z"),
		"properties": properties, "calendars": tables,
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

var dayNames = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

func randomRecurrence(r *rand.Rand) members {
	frequency := pick(r, "day", "day", "week", "week", "month", "month", "month", "year", "hour", "minute")
	schedule := members{}
	if frequency != "hour" && frequency != "minute" && r.IntN(2) == 0 {
		schedule["hours"] = []int{pick(r, 0, 1, 2, 3, 9, 22, 23), pick(r, 2, 9, 17)}[:1+r.IntN(2)]
		if r.IntN(2) == 0 {
			schedule["minutes"] = []int{pick(r, 0, 15, 30, 59)}
		}
	}
	interval := 1
	switch frequency {
	case "minute":
		interval = 240 + r.IntN(700)
	case "hour":
		interval = 3 + r.IntN(30)
	case "day":
		interval = pick(r, 1, 1, 2, 3, 10)
	case "week":
		interval = pick(r, 1, 1, 2)
		schedule["weekDays"] = []string{pick(r, dayNames...), pick(r, dayNames...), pick(r, dayNames...)}[:1+r.IntN(3)]
	case "month":
		interval = pick(r, 1, 1, 1, 2, 3)
		if r.IntN(2) == 0 {
			schedule["monthDays"] = []int{pick(r, 1, 15, 28, 31, -1, -2), 1 + r.IntN(31), -1 - r.IntN(31)}[:1+r.IntN(3)]
		}
		if r.IntN(3) == 0 {
			schedule["monthlyOccurrences"] = []members{{"day": pick(r, dayNames...), "occurrence": pick(r, 1, 2, 5, -1, -2)}, {"day": pick(r, dayNames...)}}[:1+r.IntN(2)]
		}
		fallthrough
	case "year":
		if r.IntN(3) == 0 {
			schedule["months"] = []int{1 + r.IntN(12), 1 + r.IntN(12), 12}
		}
	}
	return members{"frequency": frequency, "interval": interval, "schedule": schedule}
}

func randomCalendars(r *rand.Rand, now time.Time) (uses []members, tables members) {
	tables = members{}
	for i := range 1 + r.IntN(3) {
		name := fmt.Sprint("c", i)
		date := func() string { return now.AddDate(0, 0, r.IntN(620)-160).Format(time.DateOnly) }
		c := members{"weekendDays": pick(r, []string{"saturday", "sunday"}, []string{}, []string{"friday", "saturday"}, []string{"sunday"})}
		off := map[string]bool{}
		var days, made, periods []members
		for range r.IntN(40) {
			d := date()
			off[d] = true
			days = append(days, members{"date": d, "name": "a day"})
		}
		for range r.IntN(5) {
			if d := date(); !off[d] {
				made = append(made, members{"date": d})
			}
		}
		for range r.IntN(4) {
			first := now.AddDate(0, 0, r.IntN(500)-160)
			periods = append(periods, members{"first": first.Format(time.DateOnly), "last": first.AddDate(0, 0, pick(r, 0, 3, 14, 40, 101)).Format(time.DateOnly)})
		}
		c["days"], c["makeUpDays"], c["periods"] = days, made, periods
		for _, member := range []string{"days", "makeUpDays", "periods"} {
			if len(c[member].([]members)) == 0 {
				delete(c, member)
			}
		}
		if r.IntN(3) == 0 {
			c["timeZone"] = pick(r, "UTC", "America/Los_Angeles", "Asia/Tokyo", "Pacific/Auckland")
		}
		if r.IntN(2) == 0 {
			c["completeUntil"] = date()
		}
		tables[name] = c
		uses = append(uses, members{"name": name, "onMatch": pick(r, "skip", "only", "nextWorkingDay", "previousWorkingDay", "nextWorkingDayInMonth", "previousWorkingDayInMonth")})
		if i > 0 && r.IntN(3) > 0 && uses[i]["onMatch"] == "only" { // few days are left otherwise
			uses[i]["onMatch"] = "nextWorkingDay"
		}
	}
	return uses, tables
}

func randomExclusions(r *rand.Rand, now time.Time) (all []any) {
	for range 1 + r.IntN(3) {
		d := now.AddDate(0, 0, r.IntN(200))
		switch r.IntN(5) {
		case 0:
			all = append(all, d.Format(time.DateOnly))
		case 1:
			all = append(all, members{"first": d.Format(time.DateOnly), "last": d.AddDate(0, 0, r.IntN(30)).Format(time.DateOnly)})
		case 2:
			all = append(all, members{"from": d.Format("2006-01-02T15:04"), "until": d.AddDate(0, 0, 1+r.IntN(30)).Format("2006-01-02T15:04")})
		case 3:
			all = append(all, members{"frequency": "week", "schedule": members{"weekDays": []string{pick(r, dayNames...)}}})
		default:
			all = append(all, members{"frequency": "month", "schedule": members{"monthDays": []int{pick(r, 1, 13, -1)}, "hours": []int{pick(r, 2, 9, 17)}, "minutes": []int{0, 30}}})
		}
	}
	return all
}

func randomBlackouts(r *rand.Rand, now time.Time, elapsed bool) (all []members) {
	for i := range 1 + r.IntN(2) {
		b := members{"name": fmt.Sprint("b", i), "onMatch": pick(r, "skip", "runAtEnd", "runAtEnd", "nextAllowedDay")}
		if elapsed && b["onMatch"] == "nextAllowedDay" {
			b["onMatch"] = "runAtEnd"
		}
		if b["onMatch"] == "runAtEnd" && r.IntN(3) == 0 {
			b["keep"] = "all"
		}
		d := now.AddDate(0, 0, r.IntN(250)-20)
		switch r.IntN(4) {
		case 0:
			b["from"], b["until"] = pick(r, "22:00", "01:30", "09:00"), pick(r, "06:00", "02:30", "12:00")
		case 1:
			b["from"], b["until"] = d.Format("2006-01-02T15:04"), d.AddDate(0, 0, 1+r.IntN(60)).Format("2006-01-02T15:04")
		case 2:
			b["first"], b["last"] = d.Format(time.DateOnly), d.AddDate(0, 0, r.IntN(110)).Format(time.DateOnly)
		default:
			b["weekDays"] = []string{pick(r, dayNames...), pick(r, dayNames...)}
		}
		if r.IntN(4) == 0 {
			b["timeZone"] = pick(r, "UTC", "Asia/Tokyo")
		}
		all = append(all, b)
	}
	return all
}
