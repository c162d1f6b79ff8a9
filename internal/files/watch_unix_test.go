//go:build unix

package files

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAFileThatBlocksOrNeverEndsStopsNothing(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "number")
	put := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	put("1")
	synctest.Test(t, func(t *testing.T) {
		var logged transcript
		f, err := Open(name, number)
		require.NoError(t, err)
		go f.Watch(t.Context(), slog.New(slog.NewTextHandler(&logged, nil)))
		time.Sleep(interval / 2)
		pass := func() { time.Sleep(2 * time.Second); synctest.Wait() }
		for i, replace := range []func() error{
			func() error { return syscall.Mkfifo(name, 0o600) },
			func() error { return os.Symlink("/dev/zero", name) },
			func() error { return os.Mkdir(name, 0o700) },
		} {
			require.NoError(t, os.Remove(name))
			require.NoError(t, replace())
			pass()
			require.NotEmpty(t, f.Problem())
			require.Contains(t, logged.String(), "allowed: a regular file")
			require.NoError(t, os.Remove(name))
			put(strings.Repeat("2", i+1))
			pass()
			require.Empty(t, f.Problem())
			require.Positive(t, f.Value())
		}
		require.Equal(t, 222, f.Value())
	})
}
