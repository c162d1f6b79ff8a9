package devserver

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/service/history/tasks"
)

// BenchmarkUpdate measures one update of a workflow, as the fence of an execution makes it, with and without what this
// package adds to the server's SQLite plugin.
func BenchmarkUpdate(b *testing.B) {
	for _, bm := range []struct {
		name  string
		store func(*workflowStore) persistence.ExecutionStore
	}{
		{"server's own", func(s *workflowStore) persistence.ExecutionStore {
			pool, err := sharedPool(s.plugin)
			require.NoError(b, err)
			require.NoError(b, pool.Close())
			pool.DB, err = sql.Open("sqlite", dataSource(s.config))
			require.NoError(b, err)
			pool.SetMaxOpenConns(1)
			return s.ExecutionStore
		}},
		{"statements kept", func(s *workflowStore) persistence.ExecutionStore { return s.ExecutionStore }},
		{"and one transaction", func(s *workflowStore) persistence.ExecutionStore { return s }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			s := newWorkflowStore(b)
			store := bm.store(s)
			require.NoError(b, s.create(b.Context()))
			version := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				version++
				r := s.updateRequest(version)
				m := &r.UpdateWorkflowMutation
				m.ExecutionInfoBlob, m.ExecutionStateBlob, r.UpdateWorkflowNewEvents[0].Node.Events = bytesOf(1500), bytesOf(100), bytesOf(600)
				m.UpsertActivityInfos = map[int64]*commonpb.DataBlob{5: bytesOf(800)}
				m.Tasks = map[tasks.Category][]persistence.InternalHistoryTask{
					tasks.CategoryTimer:    {{Key: tasks.NewKey(time.Now(), version), Blob: bytesOf(200)}},
					tasks.CategoryTransfer: {{Key: tasks.NewImmediateKey(version), Blob: bytesOf(200)}},
				}
				require.NoError(b, store.UpdateWorkflowExecution(b.Context(), r))
			}
		})
	}
}

func bytesOf(n int) *commonpb.DataBlob {
	return &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: make([]byte, n)}
}
