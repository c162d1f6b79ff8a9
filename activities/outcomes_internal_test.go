package activities

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOutcomesTakeMemoryForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o outcomes
		for i := range 100 {
			o.begin(outcomeKey{execution: strconv.Itoa(i)})(&outcome{})
			o.begin(outcomeKey{execution: "unsent " + strconv.Itoa(i)})(&outcome{unsent: errStopping})
		}
		require.Len(t, o.known, 100)
		require.Len(t, o.ended, 100)
		time.Sleep(outcomesKept + 1)
		o.begin(outcomeKey{execution: "last"})(&outcome{})
		require.Len(t, o.known, 1)
		require.Len(t, o.ended, 1)
	})
}
