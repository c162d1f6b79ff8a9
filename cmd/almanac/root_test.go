package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long + "\n" + c.UsageString()) {
			assert.LessOrEqual(t, len(line), 120, line)
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	root := newRoot(func(string) (string, bool) { return "", false })
	require.GreaterOrEqual(t, len(root.Commands()), 10)
	check(root)
}
