package history_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/listing"
)

func TestTheEntriesOfOneExecutionAreThoseOfTheWholeHistoryWithItsNumber(t *testing.T) {
	t.Parallel()
	handedOver := 0
	for _, scenario := range scenarios(t) {
		t.Run(scenario, func(t *testing.T) {
			a := recorded(t, scenario)
			s := newReader(a)
			all, _, err := s.Read(t.Context(), workflowID, listing.Page{Top: 10_000})
			require.NoError(t, err)
			described, err := a.DescribeWorkflowExecution(t.Context(), workflowID, "")
			require.NoError(t, err)
			newest := 0
			for _, r := range all {
				newest = max(newest, r.Repeat)
			}
			for number := 1; number <= newest+1; number++ {
				want := slices.DeleteFunc(slices.Clone(all), func(r job.Record) bool { return r.Repeat != number })
				a.read = 0
				got, err := s.Execution(t.Context(), described, number)
				require.NoError(t, err)
				require.Equal(t, lines(want), lines(got), "execution %d", number)
				if len(a.runs) > 2 && a.read < a.pages() {
					handedOver++ // not every run was read
				}
			}
		})
	}
	require.Positive(t, handedOver, "no scenario has runs without an entry of an execution")
}
