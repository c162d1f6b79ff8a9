package build

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProgramSaysWhatItWasBuiltFrom(t *testing.T) {
	t.Parallel()
	b := &debug.BuildInfo{
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}},
		Deps: []*debug.Module{
			{Path: "go.temporal.io/sdk", Version: "v1.50.0"},
			{Path: "go.temporal.io/server", Version: "v1.32.1"},
		},
	}
	i := read(b, "", "")
	i.Go = "1.26.8"
	require.Equal(t, "version dev-0123456789ab\n"+
		"  commit           0123456789abcdef0123456789abcdef01234567\n"+
		"  Go               1.26.8\n"+
		"  Temporal SDK     1.50.0\n"+
		"  Temporal server  1.32.1", i.String())

	i = read(&debug.BuildInfo{}, "1.2.3", "abc")
	require.Equal(t, "1.2.3", i.Version)
	require.Equal(t, "abc", i.Commit)
	require.Empty(t, i.Server, "the slim program has no server")
	require.Equal(t, "dev", read(&debug.BuildInfo{}, "", "").Version)
}
