package refusals_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/audit/refusals"
)

func TestALineHasEveryMember(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	require.NoError(t, refusals.New(&text).Write(refusals.Refusal{
		Time: time.Date(2026, 1, 2, 4, 4, 5, 6_000_000, time.FixedZone("", 3600)), Client: "192.0.2.1", Method: "PUT", Path: "/jobCollections/c\n", Status: 403, Code: "X",
	}))
	require.Equal(t, `{"time":"2026-01-02T03:04:05.006Z","principal":"","client":"192.0.2.1","method":"PUT","path":"/jobCollections/c\n","action":"",`+
		`"status":403,"code":"X","requestId":"","correlationId":""}`+"\n", text.String())
}

func TestTextsOfACallerAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	require.NoError(t, refusals.New(&text).Write(refusals.Refusal{Path: strings.Repeat("ä", 5000), Method: strings.Repeat("A", 5000)}))
	var r refusals.Refusal
	require.NoError(t, json.Unmarshal([]byte(text.String()), &r))
	require.Equal(t, strings.Repeat("ä", 1024)+"…", r.Path)
	require.Equal(t, strings.Repeat("A", 2048)+"…", r.Method)
}

func TestAFileIsAppendedToAndPrivate(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	for range 2 {
		log, err := refusals.Open(name)
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { _ = log.Write(refusals.Refusal{Path: strings.Repeat("a", 2000)}) })
		}
		all.Wait()
	}
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	require.Len(t, lines, 40)
	for _, line := range lines {
		require.NoError(t, json.Unmarshal([]byte(line), &refusals.Refusal{}))
	}
	if info, err := os.Stat(name); runtime.GOOS != "windows" {
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
	}
	_, err = refusals.Open(t.TempDir())
	require.Error(t, err)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestALogThatCannotBeWrittenSaysSo(t *testing.T) {
	t.Parallel()
	require.EqualError(t, refusals.New(full{}).Write(refusals.Refusal{}), "write the audit log: no space left on device")
}
