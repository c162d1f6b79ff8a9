package devserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/log/tag"
)

func TestTheServersLogHasNoNoise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		msg    string
		err    error
		logged bool
	}{
		{"service failures", context.Canceled, false},
		{"service failures", serviceerror.NewUnavailable("GetWorkflowExecution: failed. Error: context canceled"), false},
		{"Operation failed with internal error.", fmt.Errorf("reading the shard: %w", context.Canceled), false},
		{"service failures", errors.New("disk I/O error"), true},
		{"service failures", context.DeadlineExceeded, true},
		{"service failures", errors.New("context canceled by a full disk"), true},
		{"GetHistory page size is larger than threshold", nil, false},
		{"HTTP API port has not been set.", nil, false},
		{"Context timeout is lower than critical value for long poll API.", nil, false},
		{"something else", nil, true},
	} {
		var b strings.Builder
		l := newServerLog(slog.New(slog.NewTextHandler(&b, nil)))
		tags := []tag.Tag{tag.WorkflowID("job/a")}
		if tt.err != nil {
			tags = append(tags, tag.Error(tt.err))
		}
		l.Error(tt.msg, tags...)
		l.Warn(tt.msg, tags...)
		require.Equal(t, tt.logged, b.Len() > 0, "%s: %v", tt.msg, tt.err)
	}
}
