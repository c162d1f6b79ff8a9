package input_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

// A wildBody is the body of a PUT from a client's recording, a template or a document. Its secrets are
// replaced.
type wildBody struct {
	Source   string // repository and path, or title
	Kind     string // job or collection
	API      string // the API version that it was written for
	Request  json.RawMessage
	Response json.RawMessage // the answer as a client sees it; nil: it follows from the documented rules
	Refused  []string        // the bad fields, if the body is refused
	Why      string          // the reason for that
}

// wildAt is the time at which the bodies are sent. At that time every start is within the limit, and the
// certificates are valid.
var wildAt = time.Date(2018, 10, 12, 0, 0, 0, 0, time.UTC)

// wildBodies returns all bodies by file name.
func wildBodies(t *testing.T) map[string]wildBody {
	t.Helper()
	files, err := filepath.Glob("testdata/wild/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	bodies := map[string]wildBody{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var w wildBody
		require.NoError(t, json.Unmarshal(text, &w), file)
		require.Contains(t, []string{"job", "collection"}, w.Kind, file)
		require.Equal(t, w.Refused != nil, w.Why != "", file)
		bodies[strings.TrimSuffix(filepath.Base(file), ".json")] = w
	}
	return bodies
}

// answer returns the answer to the body, without the names and the status that the service adds.
func (w wildBody) answer() (resource, error) {
	if w.Kind == "collection" {
		c, err := input.ParseCollection(w.Request, nil)
		return resource{c.Location, c.Tags, c.Properties}, err
	}
	d, err := w.parse(w.Request, nil)
	return resource{Properties: d.Redacted()}, err
}

func (w wildBody) parse(body []byte, stored *job.Definition) (job.Definition, error) {
	return input.ParseDefinition(body, input.ParseOptions{Now: wildAt, Stored: stored})
}

func TestBodiesFoundInTheWildComeBackAsSent(t *testing.T) {
	t.Parallel()
	for name, w := range wildBodies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := w.answer()
			if w.Refused != nil {
				require.Equal(t, w.Refused, blamed(t, err))
				return
			}
			require.NoError(t, err)
			if w.Response != nil {
				require.Equal(t, compactJSON(t, w.Response), compactJSON(t, answer))
			} else {
				require.JSONEq(t, w.expected(t), compactJSON(t, answer))
			}
		})
	}
}

func TestAnAnswerMayBeSentBackAndChangesNothing(t *testing.T) {
	t.Parallel()
	for name, w := range wildBodies(t) {
		if w.Refused != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := w.answer()
			require.NoError(t, err)
			text := compactJSON(t, answer)
			if w.Kind == "collection" {
				w.Request = json.RawMessage(text)
				answer, err = w.answer()
				require.NoError(t, err)
				require.Equal(t, text, compactJSON(t, answer))
				return
			}
			stored, err := w.parse(w.Request, nil)
			require.NoError(t, err)
			d, err := w.parse([]byte(text), new(stored.Redacted()))
			require.NoError(t, err)
			require.False(t, d.HasSecret())
			require.Equal(t, text, compactJSON(t, resource{Properties: d}))
			filled, err := input.KeepSecrets(d, &stored, false)
			require.NoError(t, err)
			require.Equal(t, compactJSON(t, stored), compactJSON(t, filled), "with the stored secrets")
		})
	}
}

// blamed returns the paths of the fields in err.
func blamed(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*job.Error](err)
	require.True(t, ok, "%v", err)
	var paths []string
	for _, f := range e.Fields {
		paths = append(paths, f.Path)
	}
	return paths
}

// expected returns the answer to the body by the documented rules, except for the order of members.
func (w wildBody) expected(t *testing.T) string {
	t.Helper()
	var body map[string]any
	require.NoError(t, json.Unmarshal(w.Request, &body))
	if body["properties"] == nil {
		body = map[string]any{"properties": body}
	}
	seen := []string{"properties"}
	if w.Kind == "collection" {
		seen = append(seen, "location", "tags")
	}
	for name := range body {
		if !slices.Contains(seen, name) {
			delete(body, name)
		}
	}
	properties := w.shown("properties", body["properties"]).(map[string]any)
	if properties["state"] == nil {
		properties["state"] = w.shown("state", "enabled")
	}
	if r, ok := properties["recurrence"].(map[string]any); ok && r["interval"] == nil {
		r["interval"] = 1
	}
	delete(properties, "status")
	body["properties"] = properties
	return compactJSON(t, body)
}

// Members that answers never have, and the spelling of values that are not returned as sent.
var (
	secretMembers = []string{"password", "pfx", "secret", "sasToken", "sasKey"}
	lowerMembers  = []string{"frequency", "retryType", "weekDays", "day"}
	spellings     = []string{"Basic", "ActiveDirectoryOAuth", "sharedAccessKey", "netMessaging", "amqp", "Free", "Standard"}
)

// shown returns a member's value in the form of answers.
func (w wildBody) shown(member string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for name, inner := range v {
			switch {
			case member == "headers", member == "customMessageProperties":
				all[name] = inner
			case member == "authentication" && name == "type", name == "transportType", member == "sku":
				i := slices.IndexFunc(spellings, func(s string) bool { return strings.EqualFold(s, inner.(string)) })
				all[name] = spellings[i]
			case inner != nil && !slices.Contains(secretMembers, name):
				name = strings.ToLower(name[:1]) + name[1:]
				all[name] = w.shown(name, inner)
			}
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, inner := range v {
			all[i] = w.shown(member, inner)
		}
		return all
	case string:
		switch {
		case member == "state" && w.Kind == "collection":
			return strings.ToUpper(v[:1]) + strings.ToLower(v[1:])
		case member == "state", slices.Contains(lowerMembers, member):
			return strings.ToLower(v)
		}
	}
	return value
}
