package files

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A transcript is a log that can be read while it is written.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func number(text []byte) (int, error) {
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return 0, errors.New("it is no number")
	}
	return n, nil
}

func TestAChangeIsInForceWithinTwoSecondsAndABrokenFileKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "number")
	put := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	put("1")
	synctest.Test(t, func(t *testing.T) {
		var logged transcript
		f, err := Open(name, number)
		require.NoError(t, err)
		go f.Watch(t.Context(), slog.New(slog.NewTextHandler(&logged, nil)))
		time.Sleep(interval / 2) // so that no file is written while it is read
		pass := func() { time.Sleep(2 * time.Second); synctest.Wait() }

		put("2")
		pass()
		require.Equal(t, 2, f.Value())
		require.Empty(t, f.Problem())

		put("hush")
		pass()
		require.Equal(t, 2, f.Value())
		require.Contains(t, f.Problem(), "the file number cannot be used since 2000-01-01T00:00:0")
		require.NotContains(t, f.Problem(), name, "callers that are not logged in see it")
		require.Contains(t, logged.String(), "it is no number")
		pass()
		require.Equal(t, 1, strings.Count(logged.String(), "level=ERROR"), "a problem is logged once")

		require.NoError(t, os.Remove(name))
		pass()
		require.Equal(t, 2, f.Value())
		require.Equal(t, 2, strings.Count(logged.String(), "level=ERROR"))

		put("2")
		pass()
		require.Empty(t, f.Problem(), "the content is that from before, and good")

		put("")
		time.Sleep(interval) // half of a change was read once
		put("2")
		pass()
		require.Equal(t, 2, f.Value())
		require.Empty(t, f.Problem())
		require.Equal(t, 2, strings.Count(logged.String(), "level=ERROR"))

		put("3")
		pass()
		require.Equal(t, 3, f.Value())
		require.Empty(t, f.Problem())
	})
}

func TestAFileThatIsBrokenFromTheStartIsAnError(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "number")
	_, err := Open(name, number)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, []byte("x"), 0o600))
	_, err = Open(name, number)
	require.EqualError(t, err, name+": it is no number")
}
