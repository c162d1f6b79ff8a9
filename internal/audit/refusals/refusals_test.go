package refusals_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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
		`"status":403,"code":"X","requestId":"","correlationId":"","count":1}`+"\n", text.String())
}

func TestTextsOfACallerAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	require.NoError(t, refusals.New(&text).Write(refusals.Refusal{Path: strings.Repeat("ä", 5000), Method: strings.Repeat("A", 5000)}))
	var r refusals.Refusal
	require.NoError(t, json.Unmarshal([]byte(text.String()), &r))
	require.Equal(t, strings.Repeat("ä", 254)+"…", r.Path)
	require.Equal(t, strings.Repeat("A", 17)+"…", r.Method)
	text.Reset()
	require.NoError(t, refusals.New(&text).Write(refusals.Refusal{Path: strings.Repeat("\x00", 5000), Principal: strings.Repeat("<", 5000)}))
	require.Less(t, text.Len(), 1500, "characters that JSON escapes count as it writes them")
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

// A disk takes some bytes, and then no more until there is room.
type disk struct {
	strings.Builder
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.Builder.Write(p[:n])
	if d.room -= n; n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func TestALogThatCannotBeWrittenSaysSoUntilItCan(t *testing.T) {
	t.Parallel()
	full := &disk{room: 300}
	log := refusals.New(full)
	require.NoError(t, log.Write(refusals.Refusal{Client: "192.0.2.1"}))
	require.Empty(t, log.Problem())
	for range 2 {
		require.EqualError(t, log.Write(refusals.Refusal{Client: "192.0.2.2"}), "write the audit log: no space left on device")
	}
	require.Contains(t, log.Problem(), "2 of them are missing")
	require.Equal(t, 2, log.Lost())

	full.room = 1 << 20
	require.NoError(t, log.Write(refusals.Refusal{Client: "192.0.2.3"}))
	require.Empty(t, log.Problem())
	require.Equal(t, 2, log.Lost())
	lines := strings.Split(strings.TrimSuffix(full.String(), "\n"), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), new(refusals.Refusal)), "a line that was cut off spoils no other: %s", full.String())

	var none *refusals.Log
	require.Empty(t, none.Problem())
	require.Zero(t, none.Lost())
}

func TestACallerThatIsRefusedOftenDoesNotFillTheDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := refusals.New(&text)
		read := func() (lines []refusals.Refusal) {
			for line := range strings.Lines(text.String()) {
				var r refusals.Refusal
				require.NoError(t, json.Unmarshal([]byte(line), &r))
				lines = append(lines, r)
			}
			text.Reset()
			return lines
		}
		for range 10_000 {
			require.NoError(t, log.Write(refusals.Refusal{Time: time.Now(), Client: "192.0.2.1", Path: "/flood"}))
		}
		require.NoError(t, log.Write(refusals.Refusal{Time: time.Now(), Client: "192.0.2.2"}))
		lines := read()
		require.Len(t, lines, 61)
		require.Equal(t, "192.0.2.2", lines[60].Client, "another caller has its own line at once")
		time.Sleep(time.Minute) // in a bubble
		synctest.Wait()
		lines = read()
		require.Len(t, lines, 1)
		require.Equal(t, 9_940, lines[0].Count)
		require.Equal(t, "/flood", lines[0].Path)

		for i := range 5_000 { // from many addresses
			require.NoError(t, log.Write(refusals.Refusal{Time: time.Now(), Client: strconv.Itoa(i)}))
		}
		require.Len(t, read(), 300)
		require.NoError(t, log.Flush())
		lines = read()
		require.LessOrEqual(t, len(lines), 301)
		counted := 0
		for _, line := range lines {
			counted += line.Count
		}
		require.Equal(t, 4_700, counted, "none is left out")
	})
}

func TestTheAddressesOfOneNetworkAreOneCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := refusals.New(&text)
		for i := range 1000 {
			require.NoError(t, log.Write(refusals.Refusal{Time: time.Now(), Client: "2001:db8::" + strconv.FormatInt(int64(i), 16), Status: 401}))
		}
		require.Equal(t, 60, strings.Count(text.String(), "\n"))
		require.NoError(t, log.Write(refusals.Refusal{Time: time.Now(), Client: "192.0.2.1", Principal: "bob", Status: 403}))
		require.Contains(t, text.String(), `"principal":"bob"`, "others have lines of their own")
		require.NoError(t, log.Flush())
		require.Equal(t, 62, strings.Count(text.String(), "\n"))
	})
}
