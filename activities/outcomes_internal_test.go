package activities

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOutcomesTakeMemoryForAMinuteAfterTheirReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o outcomes
		key := func(i int) outcomeKey { return outcomeKey{execution: strconv.Itoa(i)} }
		sent := make([]*outcome, 100)
		for i := range sent {
			sent[i] = &outcome{}
			o.begin(key(i))(sent[i])
			o.begin(outcomeKey{execution: "unsent " + strconv.Itoa(i)})(&outcome{unsent: errStopping})
		}
		time.Sleep(outcomesKept + 1)
		for i := range sent {
			o.reported(key(i), sent[i])
		}
		require.Len(t, o.known, 100)
		require.Len(t, o.ended, 100)
		time.Sleep(outcomesKept)
		o.reported(key(0), sent[0]) // once more, by an attempt that took over
		require.Len(t, o.ended, 100)
		time.Sleep(time.Nanosecond)
		last := &outcome{}
		o.begin(outcomeKey{execution: "last"})(last)
		o.reported(outcomeKey{execution: "last"}, last)
		require.Len(t, o.known, 1)
		require.Len(t, o.ended, 1)
	})
}
