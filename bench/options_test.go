package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPartIsMeasuredUnlessAFlagSaysWhich(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"engines", "first-tick", "isolation", "lateness", "sustained", "calls", "cluster", "sleep"}},
		{[]string{"-smoke"}, []string{"engines", "first-tick", "isolation", "lateness", "sustained", "calls", "sleep"}},
		{[]string{"-quick"}, []string{"first-tick"}},
		{[]string{"-api", "http://127.0.0.1:8080"}, []string{"first-tick"}},
		{[]string{"-smoke", "-parts", "calls,sleep"}, []string{"calls", "sleep"}},
	} {
		o, err := parseOptions(tt.args, io.Discard)
		require.NoError(t, err)
		require.Equal(t, tt.want, o.parts, "%v", tt.args)
	}
}

func TestAllMistakesAreTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"unknown words", []string{"-parts", "all", "-systems", "cron"}, []string{`(got "all")`, `-systems must have only bare-loop,temporal-schedules,almanac (got "cron")`}},
		{"no number", []string{"-herds", "1,many"}, []string{`-herds must have different numbers from 1 to 10000 (got "many")`}},
		{"the same twice", []string{"-herds", "5,5"}, []string{`(got "5")`}},
		{"nothing to measure", []string{"-ticks", "0", "-jobs", "-1"}, []string{"-ticks", "-jobs"}},
		{"a herd of yesterday", []string{"-created-before", "25h"}, []string{"-created-before must be from 0s to 24h"}},
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
