package scheduler

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	now, first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), version{run: "r", transitions: 1}
	const size, room = 1 << 20, maxCached / (1 << 20)
	remembered := func(s *statusCache) (n int) {
		for i := range 2 * room {
			if _, ok := s.get(strconv.Itoa(i), first, now); ok {
				n++
			}
		}
		return n
	}
	t.Run("by its size", func(t *testing.T) {
		t.Parallel()
		var s statusCache
		for i := range 2 * room {
			s.put(strconv.Itoa(i), first, make(json.RawMessage, size), now)
			_, ok := s.get(strconv.Itoa(i), first, now)
			require.True(t, ok, "the newest is there")
		}
		require.Equal(t, room, remembered(&s))
	})
	t.Run("also where the same is said again", func(t *testing.T) {
		t.Parallel()
		var s statusCache
		s.put("1", first, make(json.RawMessage, size), now)
		for range 2 * room {
			s.put("0", first, make(json.RawMessage, size), now)
		}
		require.Equal(t, 2, remembered(&s), "nothing else had to go")
	})
	t.Run("and not by what is too large", func(t *testing.T) {
		t.Parallel()
		var s statusCache
		s.put("0", first, make(json.RawMessage, maxCached+1), now)
		require.Zero(t, remembered(&s))
	})
	t.Run("by its age", func(t *testing.T) {
		t.Parallel()
		var s statusCache
		s.put("0", first, json.RawMessage(`{}`), now)
		_, ok := s.get("0", first, now.Add(cachedStatusAge-time.Second))
		require.True(t, ok)
		_, ok = s.get("0", first, now.Add(cachedStatusAge))
		require.False(t, ok)
	})
}
