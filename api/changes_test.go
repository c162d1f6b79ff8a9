package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/listing"
)

// recordedChange is a PUT that disabled a job and gave it another password.
func recordedChange() audit.Change {
	return audit.Change{
		ID: "r.9", Time: at("2026-01-31T09:12:44.113Z"), Operation: audit.WriteJob, Status: audit.Succeeded, Client: "1@api",
		Actor:       audit.Actor{Caller: "ann", Address: "192.0.2.17", CorrelationID: "c"},
		Differences: []audit.Difference{{Path: "properties.state", From: "enabled", To: "disabled"}, {Path: "properties.action.request.authentication.password", Hidden: true}},
	}
}

func TestChangesHaveTheWordsOfTheActivityLog(t *testing.T) {
	t.Parallel()
	made := []audit.Change{
		recordedChange(),
		{ID: "r.5", Time: at("2026-01-30T00:00:00Z"), Operation: audit.DeleteJob, Status: audit.Failed, Message: "no", Client: "temporal-cli"},
	}
	var asked listing.Page
	f := &fake{
		jobChanges: func(_ context.Context, k job.Key, p listing.Page) ([]audit.Change, string, error) {
			asked = p
			require.Equal(t, "j1", k.Name)
			return made, "r.5", nil
		},
		collectionChanges: func(context.Context, job.CollectionKey, listing.Page) ([]audit.Change, string, error) {
			return made[1:], "", nil
		},
	}
	const path = group + "/jobCollections/c1"
	r := get(f, path+"/jobs/j1/changes"+version)
	require.Equal(t, http.StatusOK, r.status)
	require.Contains(t, r.body, `{"value":[{"id":"`+path+`/jobs/j1/changes/r.9","type":"Microsoft.Scheduler/jobCollections/jobs/changes","name":"c1/j1/r.9","properties":{`+
		`"eventTimestamp":"2026-01-31T09:12:44.113Z","operationName":"Microsoft.Scheduler/jobCollections/jobs/write","status":"Succeeded",`+
		`"caller":"ann","clientIpAddress":"192.0.2.17","correlationId":"c",`+
		`"differences":[{"path":"properties.state","from":"enabled","to":"disabled"},{"path":"properties.action.request.authentication.password","hidden":true}]}},`+
		`{"id":"`+path+`/jobs/j1/changes/r.5",`)
	require.Contains(t, r.body, `"status":"Failed","client":"temporal-cli","message":"no"}}],"nextLink":"http`)
	require.Equal(t, 100, asked.Top)
	require.Contains(t, get(f, path+"/changes"+version).body, `{"value":[{"id":"`+path+`/changes/r.5","type":"Microsoft.Scheduler/jobCollections/changes","name":"c1/r.5",`)
	require.Equal(t, http.StatusBadRequest, get(f, path+"/changes"+version+"&$filter=status+eq+Failed").status)
}

func TestTheCallerIsTheActorOfWhatARequestChanges(t *testing.T) {
	t.Parallel()
	var actor audit.Actor
	f := &fake{runJob: func(ctx context.Context, _ job.Key) error {
		actor = audit.ActorOf(ctx)
		return nil
	}}
	r := send(api.New(f, api.Options{}), http.MethodPost, "/jobCollections/c1/jobs/j1/run", "")
	require.Equal(t, http.StatusOK, r.status)
	require.NotEmpty(t, actor.Address)
	require.Equal(t, r.header.Get("X-Ms-Correlation-Request-Id"), actor.CorrelationID)
}
