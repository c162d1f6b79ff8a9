//go:build linux

package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/cluster"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-data", "here", "-settings", "defaults", "-workers", "3", "-apis", "1"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{data: "here", settings: cluster.Defaults, workers: 3, apis: 1}, o)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"now"}, `"now" is no flag; see -h`},
		{[]string{"-settings", "best"}, `-settings must be recommended or defaults (got "best")`},
		{[]string{"-workers", "0"}, "-workers and -apis must be between 1 and 100"},
		{[]string{"-apis", "101"}, "-workers and -apis must be between 1 and 100"},
	} {
		_, err := parse(tt.args, io.Discard)
		require.EqualError(t, err, tt.want)
	}
}
