package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/lab/system"
)

func TestTheFlagsOfAClusterAreChecked(t *testing.T) {
	t.Parallel()
	o, err := parseCluster([]string{"-data", "here", "-settings", "defaults", "-workers", "3", "-apis", "1"},
		io.Discard)
	require.NoError(t, err)
	require.Equal(t, system.Options{Form: system.Postgres, Dir: "here", Settings: system.Defaults, Workers: 3,
		APIs: 1}, o)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"now"}, `"now" is no flag; see -h`},
		{[]string{"-settings", "best"}, `-settings must be recommended or defaults (got "best")`},
		{[]string{"-workers", "0"}, "-workers and -apis must be between 1 and 100"},
		{[]string{"-apis", "101"}, "-workers and -apis must be between 1 and 100"},
	} {
		_, err := parseCluster(tt.args, io.Discard)
		require.EqualError(t, err, tt.want)
	}
}
