//go:build !slim

package main

import (
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAddressInUseIsReportedWithItsFlag(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, flag := range []string{"--listen", "--temporal-listen", "--ui-listen"} {
		args := []string{"dev", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0"}
		args[slices.Index(args, flag)+1] = taken.Addr().String()
		_, err := almanac(t, "", nil, args...)
		require.ErrorContains(t, err, flag+": listen tcp")
		require.ErrorContains(t, err, "address already in use; choose another address, or port 0 for a free one")
	}
}
