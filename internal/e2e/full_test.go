package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/internal/codec"
	"almanac/job"
	"almanac/job/quota"
	"almanac/workflows"
	"almanac/workflows/registries"
)

// The server takes what a collection at its stated maximum hands over, answers and asks, encrypted and at its default
// limits.
func TestAFullCollectionStaysWithinTheLimitsOfTheServer(t *testing.T) {
	t.Parallel()
	keys, err := codec.ParseKeys("k:" + codec.GenerateKey())
	require.NoError(t, err)
	s := newStack(t, setup{data: t.TempDir(), keys: keys})
	now := int(time.Now().UnixMicro())
	in := registries.CollectionInput{Registration: now}
	in.Collection = job.Collection{Key: key("/full/jobs", "").Collection, Generation: now}
	in.Properties = job.CollectionProperties{SKU: job.SKU{Name: "P20Premium"}, State: job.CollectionEnabled}
	const most = 2_055_000 // of the 2,060,000 that it may take
	for size := 0; size < most; {
		n := len(in.Jobs.Entries)
		e := registries.Entry{Name: strings.Repeat("<", 40) + fmt.Sprintf("%05d", n), Sequence: n + 1}
		e.Number, e.Requirements = now-int(time.Hour.Microseconds())+n, quota.Requirements{Spacing: time.Minute, Authenticates: true}
		text, err := json.Marshal(e)
		require.NoError(t, err)
		size += len(text) + 1
		in.Jobs.Entries = append(in.Jobs.Entries, e)
	}
	names := len(in.Jobs.Entries)
	in.Jobs.Sequence, in.Jobs.Last = names, now
	id := in.Key.WorkflowID()
	run, err := s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue}, workflows.TypeCollection, in)
	require.NoError(t, err)
	list, err := s.names(t.Context(), in.Key)
	require.NoError(t, err)
	require.Len(t, list, names)

	var senders sync.WaitGroup
	for range 10 { // a thousand changes, after which it continues as new
		senders.Go(func() {
			for range 100 {
				if err := s.temporal.SignalWorkflow(t.Context(), id, "", workflows.SignalRemoved, workflows.Registration{Name: "stranger", Number: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	eventually(t, "next run", func() bool {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
		return err == nil && found.GetWorkflowExecutionInfo().GetExecution().GetRunId() != run.GetRunID()
	})
	_, err = s.service.DisableCollection(t.Context(), in.Key, job.Promise{})
	require.NoError(t, err)
	eventually(t, "collection that is disabled", func() bool {
		c, err := s.service.Collection(t.Context(), in.Key)
		return err == nil && c.Properties.State == job.CollectionDisabled
	})
	list, err = s.names(t.Context(), in.Key)
	require.NoError(t, err)
	require.Len(t, list, names)
	compute(func() { _, err = s.service.DeleteCollection(t.Context(), in.Key, nil) })
	require.NoError(t, err)
	eventually(t, "end of the collection", func() bool {
		_, err := s.service.Collection(t.Context(), in.Key)
		return job.KindOf(err) == job.KindNotFound
	})
	require.NoError(t, s.temporal.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil), "it ended by itself")
}
