package jobloop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestTheEndOfAnExecutionTellsWhetherAJobTurnsFailingOrRecovers(t *testing.T) {
	t.Parallel()
	var o job.Outcomes
	for _, tt := range []struct {
		failed bool
		want   change
	}{
		{false, change{}},
		{true, change{turnedFailing: true, failures: 1}},
		{true, change{failures: 2}},
		{false, change{recovered: true, failures: 2}},
		{false, change{}},
		{true, change{turnedFailing: true, failures: 1}},
	} {
		require.Equal(t, tt.want, record(&o, ending{failed: tt.failed}))
	}
}
