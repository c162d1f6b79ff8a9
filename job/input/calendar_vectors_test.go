package input_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/timetable"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// TestTheVectorsOfCalendarsAsJobs reads the vectors of package recurrence/calendars as the JSON of jobs and calendars, and
// compares the runs with what a second implementation says. Pauses and the like are no part of a job, and keep: all is not
// taken.
func TestTheVectorsOfCalendarsAsJobs(t *testing.T) {
	t.Parallel()
	const dir = "../../recurrence/calendars/testdata/"
	inputs, answers := jsonLines(t, dir+"calendars-input.jsonl"), jsonLines(t, dir+"calendars-expected.jsonl")
	compared := 0
	for i := range inputs {
		var v vector
		var want struct {
			Plan []struct{ Due string }
		}
		require.NoError(t, errors.Join(json.Unmarshal([]byte(inputs[i]), &v), json.Unmarshal([]byte(answers[i]), &want)))
		if v.other() || strings.Contains(answers[i], `"error"`) || v.ID == "random/00079" { // of which newer zones say something else
			continue
		}
		var dues []string
		for _, one := range want.Plan {
			if one.Due != "" {
				dues = append(dues, one.Due)
			}
		}
		require.Equal(t, dues, v.runs(t), inputs[i])
		compared++
	}
	require.Greater(t, compared, 260)
}

type vector struct {
	ID, Now, Until       string
	Properties           map[string]json.RawMessage
	Calendars            map[string]json.RawMessage
	Change, Pause, Skips json.RawMessage
	Backfill, Collection json.RawMessage
}

// other reports whether the vector is about more than when a job runs.
func (v *vector) other() bool {
	given := func(text json.RawMessage) bool {
		return len(text) > 0 && string(text) != "null" && string(text) != "[]" && string(text) != "{}"
	}
	keepsAll := func(text json.RawMessage) bool { return strings.Contains(string(text), `"keep": "all"`) }
	return given(v.Change) || given(v.Pause) || given(v.Skips) || given(v.Backfill) ||
		keepsAll(v.Properties["blackouts"]) || keepsAll(v.Collection)
}

// runs returns when the job of the vector runs.
func (v *vector) runs(t *testing.T) (dues []string) {
	t.Helper()
	at, err := recurrence.ParseTime(v.Now, nil)
	require.NoError(t, err)
	until, err := recurrence.ParseTime(v.Until, nil)
	require.NoError(t, err)
	v.Properties["action"] = json.RawMessage(httpAction)
	body, err := json.Marshal(map[string]any{"properties": v.Properties})
	require.NoError(t, err)
	d, err := input.ParseDefinition(body, input.ParseOptions{Now: at})
	require.NoError(t, err, string(body))
	var shared job.Collection
	if len(v.Collection) > 0 && string(v.Collection) != "null" {
		body := strings.Replace(string(v.Collection), "{", `{"sku":{"name":"Standard"},`, 1)
		shared, err = input.ParseCollection([]byte(body), nil)
		require.NoError(t, err, body)
	}
	uses := v.uses(t, d.Recurrence)
	p, err := timetable.With(d.Under(shared.Properties.Blackouts), at, uses, at, nil)
	require.NoError(t, err)
	for due := range p.All() {
		if due.After(until) {
			break
		}
		dues = append(dues, due.Format(time.RFC3339))
	}
	return dues
}

func (v *vector) uses(t *testing.T, r *job.Recurrence) []calendars.Use {
	t.Helper()
	var kept []job.KeptCalendar
	for _, name := range r.CalendarNames() {
		c, err := input.ParseCalendar(v.Calendars[name])
		require.NoError(t, err)
		kept = append(kept, job.KeptCalendar{Calendar: c, Version: 1})
	}
	uses, err := r.Uses(kept)
	require.NoError(t, err)
	return uses
}

func jsonLines(t *testing.T, name string) (all []string) {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		all = append(all, s.Text())
	}
	return all
}
