package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
)

// An exchange is a recorded request to Azure Scheduler and its answer.
type exchange struct {
	Method   string
	URI      string
	Request  json.RawMessage
	Status   int
	Response json.RawMessage
}

// A replay is a scheduler that stores what it gets, and takes from the recording what only the service
// could decide: the next due time, the previous state, and whether a resource is new.
type replay struct {
	answer     exchange
	collection job.Collection
	definition job.Definition
}

// whenRecorded sets the time of the recording, after which its jobs are due.
var whenRecorded = api.Options{Now: func() time.Time { return at("2016-03-30T20:40:35Z") }}

func (r *replay) fake() *fake {
	jobOf := func(k job.Key) (job.Job, error) {
		var answer struct{ Properties struct{ Status job.Status } }
		err := json.Unmarshal(r.answer.Response, &answer)
		return job.Job{Key: k, Definition: r.definition, Status: answer.Properties.Status}, err
	}
	return &fake{
		putCollection: func(_ context.Context, c job.Collection) (job.Collection, bool, error) {
			r.collection = c
			return r.collection, r.answer.Status == http.StatusCreated, nil
		},
		patchCollection: func(_ context.Context, _ job.CollectionKey, edit editCollection) (_ job.Collection, err error) {
			r.collection, err = edit(r.collection)
			return r.collection, err
		},
		change: func(context.Context, string, job.CollectionKey) (*job.Operation, error) { return nil, nil },
		collections: func(_ context.Context, subscription, resourceGroup string, _ listing.Page) ([]job.Collection, string, error) {
			found, err := recordedList(r.answer, func(name string, c job.Collection) job.Collection {
				c.Key = job.CollectionKey{Subscription: subscription, ResourceGroup: resourceGroup, Name: name}
				return c
			})
			return found, "", err
		},
		putJob: func(_ context.Context, k job.Key, edit editJob) (j job.Job, _ bool, err error) {
			if r.definition, err = edit(nil); err != nil {
				return job.Job{}, false, err
			}
			j, err = jobOf(k)
			return j, r.answer.Status == http.StatusCreated, err
		},
		patchJob: func(_ context.Context, k job.Key, edit editJob) (_ job.Job, err error) {
			if r.definition, err = edit(&job.Job{Key: k, Definition: r.definition}); err != nil {
				return job.Job{}, err
			}
			return jobOf(k)
		},
		job: func(_ context.Context, k job.Key) (job.Job, error) { return jobOf(k) },
		history: func(context.Context, job.Key, listing.Page) ([]job.Record, string, error) {
			type entry struct{ Properties historyEntry }
			records, err := recordedList(r.answer, func(_ string, e entry) job.Record { return e.Properties.record() })
			return records, "", err
		},
	}
}

// A historyEntry holds the properties of a recorded history entry.
type historyEntry struct {
	StartTime, EndTime, ExpectedExecutionTime job.Time
	Message                                   string
	RetryCount, RepeatCount                   int
	ActionName                                job.ActionName
}

func (e historyEntry) record() job.Record {
	return job.Record{
		Execution: job.Execution{Due: e.ExpectedExecutionTime.Time, Repeat: e.RepeatCount, ActionName: e.ActionName},
		Attempt: job.Attempt{
			Number: e.RetryCount + 1, Start: e.StartTime.Time, End: e.EndTime.Time, Outcome: job.OutcomeCompleted, Message: e.Message,
		},
	}
}

// recordedList parses the items of a recorded list.
func recordedList[I, T any](e exchange, item func(name string, i I) T) ([]T, error) {
	var page struct{ Value []json.RawMessage }
	if err := json.Unmarshal(e.Response, &page); err != nil {
		return nil, err
	}
	var all []T
	for _, text := range page.Value {
		var name struct{ Name string }
		var i I
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &i); err != nil {
			return nil, err
		}
		all = append(all, item(name.Name, i))
	}
	return all, nil
}

// historyOrder matches the part of a history key that the service changed with every answer.
var historyOrder = regexp.MustCompile(`(\d{20}):\d{20}`)

func TestRecordedSessionsAreAnsweredAsTheServiceDid(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../job/input/testdata/recorded.json")
	require.NoError(t, err)
	var sessions map[string][]exchange
	require.NoError(t, json.Unmarshal(text, &sessions))
	require.NotEmpty(t, sessions)

	for name, session := range sessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &replay{}
			h := api.New(r.fake(), whenRecorded)
			for _, e := range session {
				r.answer = e
				got := send(h, e.Method, strings.ReplaceAll(e.URI, " ", "%20"), string(e.Request))
				require.Equal(t, e.Status, got.status, "%s %s: %s", e.Method, e.URI, got.body)
				require.Equal(t, recordedBody(t, e), historyOrder.ReplaceAllString(got.body, "$1"), "%s %s", e.Method, e.URI)
			}
		})
	}
}

// recordedBody returns the recorded answer in wire form. The message of a successful history entry is
// added, since the service sent none.
func recordedBody(t *testing.T, e exchange) string {
	t.Helper()
	if string(e.Response) == "null" {
		return ""
	}
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, e.Response))
	body := b.String()
	if strings.Contains(e.URI, "/history") {
		body = strings.ReplaceAll(historyOrder.ReplaceAllString(body, "$1"), `"message":`, `"status":"Completed","message":`)
	}
	return body
}
