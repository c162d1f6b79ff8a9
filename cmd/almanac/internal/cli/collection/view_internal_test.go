package collection

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/output"
)

func TestAPausedCollectionSaysUntilWhenAndWhatRunsThen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	v := view(&base.Session{Printer: output.Printer{Zone: time.UTC, Now: now}})
	state := func(s client.CollectionState, d *client.Disabled) string {
		return v.Columns[1].Of(client.Collection{Properties: client.CollectionProperties{State: s, Disabled: d}}).Text
	}
	require.Equal(t, "Enabled", state(client.CollectionEnabled, nil))
	require.Equal(t, "Disabled", state(client.CollectionDisabled, nil))
	require.Equal(t, "Disabled by anna until 15:00:00 (in 3h), then the latest that was held runs: move",
		state(client.CollectionDisabled, &client.Disabled{Caller: "anna", Until: now.Add(3 * time.Hour), Recover: client.RecoverLatest, Note: "move"}))
}
