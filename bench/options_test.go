package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHerdsAreReadAsTheyAreGrouped(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"-herds", "200+1,2000", "-parts", "calls"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, [][]int{{1, 200}, {2000}}, o.herds)
	require.True(t, o.has(partCalls))
	require.False(t, o.has(partSleep))
}

func TestAllMistakesAreTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"unknown words", []string{"-parts", "all", "-systems", "cron"}, []string{`-parts has "all"`, `-systems has "cron"`}},
		{"no number", []string{"-herds", "1+many"}, []string{`-herds has "many", want numbers from 1 to 10000`}},
		{"the same twice", []string{"-herds", "5+5"}, []string{`-herds has "5"`}},
		{"too many in a minute", []string{"-herds", "1+2+3+4"}, []string{"want at most 3 that share a minute"}},
		{"nothing to measure", []string{"-ticks", "0", "-sustain", "0s"}, []string{"-ticks", "-sustain"}},
		{"durability", []string{"-synchronous", "off"}, []string{`-synchronous is "off", want full or normal`}},
		{"a herd of yesterday", []string{"-created-before", "25h"}, []string{"-created-before must be from 0s to 24h0m0s"}},
		{"an argument", []string{"lateness"}, []string{`"lateness" is no flag`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parseOptions(tt.args, io.Discard)
			require.Error(t, err)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
