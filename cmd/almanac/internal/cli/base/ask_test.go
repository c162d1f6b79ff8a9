package base_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
)

func TestAnInterruptIsAnAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, typed := io.Pipe()
	t.Cleanup(func() { _ = typed.Close() })
	err := base.Asking(in, io.Discard).Confirm(ctx, "Delete it?")
	require.EqualError(t, err, "interrupted: nothing was done")
	require.Equal(t, exit.Failed, exit.Status(err))
}

func TestAnAnswerIsYesOrNo(t *testing.T) {
	t.Parallel()
	for text, yes := range map[string]bool{"y\n": true, "YES\n": true, "y": true, "n\n": false, "\n": false, "": false} {
		err := base.Asking(strings.NewReader(text), io.Discard).Confirm(t.Context(), "Delete it?")
		require.Equal(t, yes, err == nil, "%q", text)
	}
}

func TestWhatWasDoneHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &base.Session{Printer: output.Printer{Out: &out}}
	require.NoError(t, s.Done("job", "hello", "created, runs no more: \x1b[31m"))
	require.Equal(t, "job hello created, runs no more: \\x1b[31m\n", out.String())
}
