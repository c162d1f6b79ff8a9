package core_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/scheduler/core"
)

func TestACacheIsBounded(t *testing.T) {
	t.Parallel()
	const room = 16
	count := func(c *core.Cache[string]) (n int) {
		for i := range 2 * room {
			if _, ok := c.Get(strconv.Itoa(i), time.Hour); ok {
				n++
			}
		}
		return n
	}
	t.Run("by its size", func(t *testing.T) {
		t.Parallel()
		var c core.Cache[string]
		for i := range 2 * room {
			c.Put(strconv.Itoa(i), "answer", 10, 10*room+9)
			_, ok := c.Get(strconv.Itoa(i), time.Hour)
			require.True(t, ok, "the newest is there")
		}
		require.Equal(t, room, count(&c))
	})
	t.Run("also if the same workflow answers again", func(t *testing.T) {
		t.Parallel()
		var c core.Cache[string]
		c.Put("1", "answer", 1, room)
		for range 2 * room {
			c.Put("0", "answer", 1, room)
		}
		require.Equal(t, 2, count(&c), "nothing else had to go")
	})
	t.Run("and holds no answer that is too large", func(t *testing.T) {
		t.Parallel()
		var c core.Cache[string]
		c.Put("1", "answer", 1, room)
		c.Put("0", "answer", room+1, room)
		require.Equal(t, 1, count(&c))
	})
	t.Run("by its age", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var c core.Cache[string]
			c.Put("0", "answer", 1, room)
			time.Sleep(time.Minute - time.Second)
			_, ok := c.Get("0", time.Minute)
			require.True(t, ok)
			time.Sleep(time.Second)
			_, ok = c.Get("0", time.Minute)
			require.False(t, ok)
		})
	})
}
