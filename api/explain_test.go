package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/explain"
)

// explanation is an answer with all members.
func explanation() explain.Answer {
	due, record := at("2026-01-31T02:15:00Z"), attempt()
	return explain.Answer{
		At: due, Outcome: explain.Late, Cause: explain.HostLimit, Sentence: "It ran 4.2 s late.",
		Before: due.Add(-time.Minute), After: due.Add(time.Minute), Execution: "1-2", Other: "1-1",
		Split:    &job.Split{Worker: time.Second, Server: 200 * time.Millisecond, Place: 3 * time.Second, Send: 1500 * time.Microsecond},
		Lateness: 4200 * time.Millisecond, Earlier: time.Minute, Hazards: []string{"one"}, Unread: []string{"another"},
		Facts: []explain.Fact{
			{Time: due, Text: "a", Source: explain.FromSchedule},
			{Time: due, Text: "b", Source: explain.FromHistory, Entry: &record},
			{Time: due, Text: "c", Source: explain.FromChanges, Change: "r.5"},
			{Time: due, Text: "d", Source: explain.FromCollection, Change: "r.6"},
			{Time: due, Text: "e", Source: explain.FromExecution, Name: "1-2"},
		},
	}
}

const explained = "/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections/c1"

func TestAnExplanationHasItsFactsWithTheirSources(t *testing.T) {
	t.Parallel()
	var asked explain.Question
	f := &fake{explain: func(_ context.Context, k job.Key, q explain.Question) (explain.Answer, job.Key, error) {
		asked = q
		return explanation(), k, nil
	}}
	r := get(f, explained+"/jobs/j1/explain"+version+"&at=2026-01-31T02:15:00Z")
	require.Equal(t, http.StatusOK, r.status, r.body)
	require.Equal(t, explain.Question{Text: "2026-01-31T02:15:00Z", At: at("2026-01-31T02:15:00Z")}, asked)
	id := explained + "/jobs/j1"
	require.JSONEq(t, `{"id":"`+id+`/explain/2026-01-31T02:15:00Z","type":"Microsoft.Scheduler/jobCollections/jobs/explain","name":"c1/j1/2026-01-31T02:15:00Z","properties":{
		"time":"2026-01-31T02:15:00Z","outcome":"late","cause":"hostLimit","sentence":"It ran 4.2 s late.",
		"previousExecutionTime":"2026-01-31T02:14:00Z","nextExecutionTime":"2026-01-31T02:16:00Z","execution":"`+id+`/executions/1-2","otherExecution":"`+id+`/executions/1-1",
		"split":{"lateness":4.2,"worker":1,"server":0.2,"place":3,"send":0.0015,"earlierAttempts":60},
		"facts":[{"time":"2026-01-31T02:15:00Z","text":"a","source":"schedule"},
			{"time":"2026-01-31T02:15:00Z","text":"b","source":"history","id":"`+historyID(t, f)+`"},
			{"time":"2026-01-31T02:15:00Z","text":"c","source":"changes","id":"`+id+`/changes/r.5"},
			{"time":"2026-01-31T02:15:00Z","text":"d","source":"collectionChanges","id":"`+explained+`/changes/r.6"},
			{"time":"2026-01-31T02:15:00Z","text":"e","source":"execution","id":"`+id+`/executions/1-2"}],
		"hazards":["one"],"unread":["another"]}}`, r.body)
}

// historyID returns the id that the list of entries has for the one in the explanation.
func historyID(t *testing.T, f *fake) string {
	t.Helper()
	f.history = (&backend{}).scheduler(t).history
	first := get(f, explained+"/jobs/j1/history"+version)
	var listed struct {
		Value []struct{ ID string }
	}
	require.NoError(t, json.Unmarshal([]byte(first.body), &listed))
	return listed.Value[0].ID
}

func TestATimeWithoutAnOffsetIsAskedInTheZoneOfTheJob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query string
		want  explain.Question
	}{
		{"", explain.Question{}},
		{"&at=2026-03-29T02:30", explain.Question{Text: "2026-03-29T02:30"}},
		{"&at=2026-03-29", explain.Question{Text: "2026-03-29"}},
		{"&at=2026-03-29T02:30%2B01:00", explain.Question{Text: "2026-03-29T02:30+01:00", At: at("2026-03-29T01:30:00Z")}},
	} {
		var asked explain.Question
		f := &fake{explain: func(_ context.Context, k job.Key, q explain.Question) (explain.Answer, job.Key, error) {
			asked = q
			return explain.Answer{}, k, nil
		}}
		require.Equal(t, http.StatusOK, get(f, explained+"/jobs/j1/explain"+version+tt.query).status)
		require.Equal(t, tt.want.Text, asked.Text)
		require.True(t, tt.want.At.Equal(asked.At), tt.query)
	}
	for _, bad := range []string{"&at=yesterday", "&at=2026-01-01&at=2026-01-02", "&at="} {
		require.Contains(t, refusal(t, get(&fake{}, explained+"/jobs/j1/explain"+version+bad)), "at: ")
	}
}

// An explanation quotes what targets answered, as the history does.
func (talker) Explain(_ context.Context, k job.Key, _ explain.Question) (explain.Answer, job.Key, error) {
	return explain.Answer{
		Outcome: explain.Failed, Cause: explain.TargetFailed, Sentence: "It ran and failed once: " + message,
		Facts: []explain.Fact{{Text: "Attempt 1 began, and failed: " + message, Source: explain.FromHistory}},
	}, k, nil
}

func TestTheDescriptionHasAllCauses(t *testing.T) {
	t.Parallel()
	var causes []any
	for _, c := range explain.Causes() {
		causes = append(causes, string(c))
	}
	require.Equal(t, causes, loadContract(t).Components.Schemas["ExplanationProperties"].Value.Properties["cause"].Value.Enum)
}
