package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/listing"
)

// attempt is the recorded run of 2016-03-30 at 20:39:53.
func attempt() job.Record {
	return job.Record{
		Execution: job.Execution{Due: at("2016-03-30T20:39:52.6597062Z"), Repeat: 135, ActionName: job.MainAction},
		Attempt: job.Attempt{
			Number: 1, Start: at("2016-03-30T20:39:53.8021951Z"), End: at("2016-03-30T20:39:53.8646988Z"),
			Outcome: job.OutcomeCompleted, Message: "Http Action - <OK> & done",
		},
	}
}

func historyOf(records ...job.Record) *fake {
	return &fake{history: func(context.Context, job.Key, listing.Page) ([]job.Record, string, error) { return records, "", nil }}
}

func TestHistoryEntryHasTheServicesMembersInItsOrder(t *testing.T) {
	t.Parallel()
	retry := attempt()
	retry.Number, retry.Outcome, retry.ActionName = 3, job.OutcomeFailed, job.ErrorAction
	const path = group + "/jobCollections/c1/jobs/j1"
	const first, second = "02519429304061978048:09223372036852075806", "02519429304061978048:09223372036852065804"
	require.Equal(t, `{"value":[`+
		`{"id":"`+path+`/history/`+first+`","type":"Microsoft.Scheduler/jobCollections/jobs/history","name":"c1/j1/`+first+`","properties":{`+
		`"startTime":"2016-03-30T20:39:53.8021951Z","endTime":"2016-03-30T20:39:53.8646988Z","expectedExecutionTime":"2016-03-30T20:39:52.6597062Z",`+
		`"status":"Completed","message":"Http Action - <OK> & done","retryCount":0,"repeatCount":135,"actionName":"MainAction"}},`+
		`{"id":"`+path+`/history/`+second+`","type":"Microsoft.Scheduler/jobCollections/jobs/history","name":"c1/j1/`+second+`","properties":{`+
		`"startTime":"2016-03-30T20:39:53.8021951Z","endTime":"2016-03-30T20:39:53.8646988Z","expectedExecutionTime":"2016-03-30T20:39:52.6597062Z",`+
		`"status":"Failed","message":"Http Action - <OK> & done","retryCount":2,"repeatCount":135,"actionName":"ErrorAction"}}],"nextLink":null}`,
		get(historyOf(attempt(), retry), path+"/history"+version).body)
}

func TestOccurrenceThatWasNotRunIsAnEntryOfItsOwn(t *testing.T) {
	t.Parallel()
	var r job.Record
	r.Due, r.Start, r.End = at("2026-01-01T00:00:00Z"), at("2026-01-01T00:05:00Z"), at("2026-01-01T00:05:00Z")
	r.Outcome, r.ActionName = job.OutcomeMissed, job.MainAction
	body := get(historyOf(r), "/jobCollections/c1/jobs/j1/history").body
	require.Contains(t, body, `"properties":{"startTime":"2026-01-01T00:05:00Z","endTime":"2026-01-01T00:05:00Z",`+
		`"expectedExecutionTime":"2026-01-01T00:00:00Z","status":"Missed","retryCount":0,"repeatCount":0,"actionName":"MainAction"}`)
}

func TestHistoryKeysAreUniqueStableAndSortNewestFirst(t *testing.T) {
	t.Parallel()
	later, secondTry, compensation, nextRun, afterNext := attempt(), attempt(), attempt(), attempt(), attempt()
	secondTry.Number = 2
	compensation.ActionName = job.ErrorAction
	nextRun.Repeat++
	afterNext.Repeat += 1_000_000_000
	later.Start = later.Start.Add(100)
	newestFirst := []job.Record{later, afterNext, nextRun, compensation, secondTry, attempt()}

	keys := func() []string {
		var page struct{ Value []struct{ Name string } }
		require.NoError(t, json.Unmarshal([]byte(get(historyOf(newestFirst...), "/jobCollections/c1/jobs/j1/history").body), &page))
		var names []string
		for _, entry := range page.Value {
			names = append(names, strings.TrimPrefix(entry.Name, "c1/j1/"))
		}
		return names
	}
	first := keys()
	require.Len(t, first, len(newestFirst))
	require.IsIncreasing(t, first)
	require.Equal(t, first, keys())
	for _, key := range first {
		require.Regexp(t, `^\d{20}:\d{20}$`, key)
	}
}
