package input_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

// An exchange is a recorded request to Azure Scheduler and its answer.
type exchange struct {
	Method   string
	URI      string
	Request  json.RawMessage
	Status   int
	Response json.RawMessage
}

// isJob reports whether the exchange is about a job, not a collection.
func (e exchange) isJob() bool { return strings.Contains(e.URI, "/jobs/") }

// sent reports whether the request has a body.
func (e exchange) sent() bool { return string(e.Request) != "null" }

func recorded(t testing.TB) map[string][]exchange {
	t.Helper()
	text, err := os.ReadFile("testdata/recorded.json")
	require.NoError(t, err)
	var sessions map[string][]exchange
	require.NoError(t, json.Unmarshal(text, &sessions))
	require.NotEmpty(t, sessions)
	return sessions
}

// recordedAt is the time of the recordings.
var recordedAt = time.Date(2016, 3, 30, 20, 40, 35, 0, time.UTC)

func TestRecordedSessionsAreAnsweredAsTheServiceDid(t *testing.T) {
	t.Parallel()
	for name, session := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stored job.Definition
			var collection job.Collection
			for _, e := range session {
				if !e.sent() {
					continue
				}
				o := input.ParseOptions{Now: recordedAt, Stored: &stored}
				var got any
				var err error
				switch {
				case e.isJob() && e.Method == "PATCH":
					stored, err = input.MergeDefinition(stored, e.Request, o)
					got = stored
				case e.isJob():
					stored, err = input.ParseDefinition(e.Request, o)
					stored = stored.Redacted()
					got = stored
				case e.Method == "PATCH":
					collection, err = input.MergeCollection(collection, e.Request, nil)
					got = resource{collection.Location, collection.Tags, collection.Properties}
				default:
					collection, err = input.ParseCollection(e.Request, nil)
					got = resource{collection.Location, collection.Tags, collection.Properties}
				}
				require.NoError(t, err, "%s %s", e.Method, e.Request)
				require.Equal(t, answered(t, e), compactJSON(t, got))
			}
		})
	}
}

// A resource is a collection or job in the service's form, without its names.
type resource struct {
	Location   string      `json:"location,omitempty"`
	Tags       job.Members `json:"tags,omitzero"`
	Properties any         `json:"properties"`
}

// answered returns the service's answer as compact JSON, with the members in their order, without the
// members that the service adds.
func answered(t *testing.T, e exchange) string {
	t.Helper()
	var answer struct {
		Location   string
		Tags       job.Members
		Properties json.RawMessage
	}
	require.NoError(t, json.Unmarshal(e.Response, &answer))
	if !e.isJob() {
		return compactJSON(t, resource{answer.Location, answer.Tags, answer.Properties})
	}
	text := compactJSON(t, answer.Properties)
	if i := strings.Index(text, `,"status":`); i >= 0 {
		text = text[:i] + "}"
	}
	return text
}

func compactJSON(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSuffix(b.String(), "\n")
}
