package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/output"
)

func TestAPauseSaysWhenItEndsAndWhatRunsThen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := &base.Session{Printer: output.Printer{Zone: time.UTC, Now: now}}
	d := client.Disabled{Caller: "anna", Until: now.Add(3 * time.Hour), Recover: client.RecoverLatest, Note: "the database moves"}
	require.Equal(t, "by anna until 15:00:00 (in 3h), then the latest that was held runs: the database moves", PauseText(s, &d))
	require.Equal(t, "by anna", PauseText(s, &client.Disabled{Caller: "anna"}))
	require.Empty(t, PauseText(s, nil))
}
