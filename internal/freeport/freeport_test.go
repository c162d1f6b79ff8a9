package freeport_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/freeport"
)

func TestAFreePortIsReturnedOnce(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 10 {
		free, err := freeport.Take(3)
		require.NoError(t, err)
		for _, port := range free {
			require.False(t, seen[port], port)
			require.Less(t, port, 32768)
			seen[port] = true
		}
	}
}
