package help_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/help"
)

func flags() *flag.FlagSet {
	f := flag.NewFlagSet("x", flag.ContinueOnError)
	f.Duration("rest", time.Minute, "how long it rests, and a word or two more about that, so that the line becomes too long for one line")
	f.Int("jobs", 0, "number of jobs; 0: as many as there are")
	f.String("out", "", "`directory` of the report; empty: none")
	f.Bool("once", false, "do it once")
	return f
}

func TestHelpSaysWhatTheProgramAndEachFlagDo(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := help.Parse(flags(), "\nX does it.\n", []string{"-h"}, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Equal(t, `X does it.

Flags:
      --jobs int        number of jobs; 0: as many as there are
      --once            do it once
      --out directory   directory of the report; empty: none
      --rest duration   how long it rests, and a word or two more about that, so that the line becomes
                        too long for one line (default 1m0s)
`, out.String())
}

func TestMistakesArePrintedByTheCallerAlone(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-rests 1s":   "flag provided but not defined: -rests; see -h",
		"-rest later": `invalid value "later" for flag -rest: parse error; see -h`,
		"now":         `"now" is no flag; see -h`,
	} {
		var out strings.Builder
		require.EqualError(t, help.Parse(flags(), "X does it.", strings.Fields(args), &out), want)
		require.Empty(t, out.String())
	}
	require.NoError(t, help.Parse(flags(), "X does it.", []string{"-once"}, new(strings.Builder)))
}
