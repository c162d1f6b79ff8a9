package e2e_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProcessesThatChangeOneFileOfTokensAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	const each = 60
	file, run := filepath.Join(t.TempDir(), "tokens.yaml"), program(t)
	start := func(args ...string) {
		if out, err := exec.CommandContext(t.Context(), run, append(args, "--token-file", file)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
	var all sync.WaitGroup
	for i := range each {
		all.Go(func() { start("token", "create", "--name", fmt.Sprint("old", i)) })
	}
	all.Wait()
	require.Equal(t, each, strings.Count(prints(t, "token", "list", "--token-file", file), "old"))
	for i := range each {
		all.Go(func() { start("token", "create", "--name", fmt.Sprint("new", i)) })
		all.Go(func() { start("token", "revoke", fmt.Sprint("old", i)) })
	}
	all.Wait()
	list := prints(t, "token", "list", "--token-file", file)
	require.NotContains(t, list, "old")
	require.Equal(t, each, strings.Count(list, "new"))
}
