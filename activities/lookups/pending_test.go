package lookups_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/lookups"
)

func TestWhatMayHaveBeenSentWithoutARecord(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := due.Add
	for name, tt := range map[string]struct {
		last      *lookups.Pending
		cancelled time.Time
		want      lookups.Unrecorded
	}{
		"nothing long before it was due":         {nil, at(-time.Minute), lookups.NothingSent},
		"perhaps one, within the clocks' margin": {nil, at(-time.Second), lookups.MayBeSent},
		"perhaps one, after it was due":          {nil, at(time.Second), lookups.MayBeSent},
		"one that had passed its fence":          {&lookups.Pending{Sent: true}, at(-time.Minute), lookups.FencePassed},
		"nothing before its next attempt": {
			&lookups.Pending{Next: at(time.Minute)}, at(time.Minute - lookups.ServerSkew - 1), lookups.NothingSent,
		},
		"perhaps the next attempt, within the skew of the server's clocks": {
			&lookups.Pending{Next: at(time.Minute)}, at(time.Minute - lookups.ServerSkew), lookups.MayBeSent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.last.Unrecorded(due, tt.cancelled))
		})
	}
}
