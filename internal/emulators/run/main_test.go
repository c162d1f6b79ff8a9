package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHelpSaysWhatIsStarted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.ErrorIs(t, parse([]string{"--help"}, &out), flag.ErrHelp)
	require.Contains(t, out.String(), "Service Bus on 127.0.0.1:5671, with the queue orders and the topic news")
}

func TestArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, parse(nil, &out))
	require.ErrorContains(t, parse([]string{"bogus"}, &out), `"bogus" is no flag`)
	require.ErrorContains(t, parse([]string{"-port", "1"}, &out), "not defined: -port")
}
