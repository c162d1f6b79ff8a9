//go:build unix

package job_test

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/job"
)

func TestAnInterruptInTheEditorIsForTheEditor(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	dir := t.TempDir()
	arrived, file := filepath.Join(dir, "arrived"), filepath.Join(dir, "file")
	require.NoError(t, syscall.Mkfifo(arrived, 0o600))
	context.AfterFunc(ctx, func() { _ = os.WriteFile(arrived, []byte("\n"), 0o600) })
	editor := `trap "" INT; kill -INT $PPID; read line < ` + arrived + `; echo written >`
	after, err := job.RunEditor(ctx, editor, file)
	require.NoError(t, err)
	require.Error(t, ctx.Err())
	require.NoError(t, after.Err(), "what was written is still to be sent")
	require.FileExists(t, file)
}
