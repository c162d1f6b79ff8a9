package workload

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/input"
	"almanac/lab/receiver"
	"almanac/lab/record"
)

// encoded returns an object as JSON.
func encoded(t *testing.T, o object) []byte {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	return text
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func TestAlmanacAcceptsEveryJobAndTheReceiverKnowsItsRequests(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 10, 0, time.UTC)
	r := receiver.New("http://127.0.0.1:1", 1)
	for _, j := range NewJobs(500, 100, begin, time.Minute, newRandom(1)) {
		d, err := input.ParseDefinition(encoded(t, definitionBody(r, j.ID, j.Definition)),
			input.ParseOptions{Now: begin})
		require.NoError(t, err)
		require.False(t, d.StartTime.Before(begin))
		require.Equal(t, 1+j.Definition.Retries, d.Action.RetryPolicy.Attempts())

		uri, err := url.Parse(d.Action.Request.URI)
		require.NoError(t, err)
		require.Equal(t, j.Definition.Behaviour, uri.Query().Get("do"))
		req := httptest.NewRequest(http.MethodGet, d.Action.Request.URI, http.NoBody)
		req.Header.Set("x-ms-scheduler-expected-execution-time", "2026-03-01T12:00:10")
		got, err := receiver.Parse(req, begin)
		require.NoError(t, err)
		require.Equal(t, record.Request{Job: j.ID, Version: 1, Action: record.MainAction, Due: begin, Arrived: begin},
			got)

		due, ok := j.Next(begin.Add(90 * time.Second))
		require.Equal(t, due.After(begin.Add(90*time.Second)), ok)
	}
}

func TestTheSameSeedMakesTheSameJobs(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 10, 0, time.UTC)
	first := NewJobs(50, 0, begin, time.Minute, newRandom(1))
	require.Equal(t, first, NewJobs(50, 0, begin, time.Minute, newRandom(1)))
	require.NotEqual(t, first, NewJobs(50, 0, begin, time.Minute, newRandom(2)))
}

func TestAHerdIsDueInOneSecondOfEachMinute(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 40, 0, time.UTC)
	due := map[time.Time]int{}
	for _, j := range NewJobs(500, 100, begin, time.Minute, newRandom(1))[:100] {
		next, ok := j.Next(begin.Add(10 * time.Minute))
		require.True(t, ok)
		due[next]++
	}
	require.Equal(t, map[time.Time]int{time.Date(2026, 3, 1, 12, 11, 35, 0, time.UTC): 100}, due)
}

func TestJobsThatAreAddedHaveNewNames(t *testing.T) {
	t.Parallel()
	w := New(nil, nil, NewJobs(4, 0, time.Now(), time.Minute, newRandom(1)), nil)
	w.add(oneTime(time.Now()))
	w.add(oneTime(time.Now()))
	seen := map[record.Job]bool{}
	for _, id := range w.IDs() {
		require.False(t, seen[id])
		seen[id] = true
	}
	require.Len(t, seen, 6)
}

// The first try of a change is made by the API whose number is the length of the name, and
// faults that are aimed at creates hit the first of two APIs.
func TestTheFirstAPICreatesTheJobsThatAreAdded(t *testing.T) {
	t.Parallel()
	require.Zero(t, len(New(nil, nil, nil, nil).add(record.Definition{}).ID.Name)%2)
}

func TestAlmanacAcceptsOneTimeJobs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 10, 500, time.UTC)
	r := receiver.New("http://127.0.0.1:1", 1)
	body := definitionBody(r, record.Job{Collection: "c", Name: "x", Incarnation: 1}, oneTime(now))
	d, err := input.ParseDefinition(encoded(t, body), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Nil(t, d.Recurrence)
	require.Equal(t, now.Truncate(time.Second), d.StartTime.Time)
}

func TestAlmanacAcceptsEveryJobWithCalendarsAndEveryCalendar(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 22, 50, 10, 0, time.UTC)
	r := receiver.New("http://127.0.0.1:1", 1)
	random := newRandom(1)
	kinds := map[string]bool{}
	for _, j := range NewDated(200, begin, random) {
		d, err := input.ParseDefinition(encoded(t, definitionBody(r, j.ID, j.Definition)), input.ParseOptions{Now: begin})
		require.NoError(t, err)
		require.True(t, d.Recurrence.ByCalendars())
		for _, use := range d.Recurrence.Calendars {
			kinds[j.Definition.Rule.Frequency+" "+use.OnMatch] = true
		}
	}
	for _, kind := range []string{"minute skip", "minute only", "month skip", "week nextWorkingDay", "day previousWorkingDay",
		"week nextWorkingDayInMonth", "week previousWorkingDayInMonth"} {
		require.True(t, kinds[kind], kind)
	}
	for range 200 {
		c := newCalendar("B", begin, random)
		_, err := input.ParseCalendar(encoded(t, calendarBody(&c)))
		require.NoError(t, err)
	}
}
