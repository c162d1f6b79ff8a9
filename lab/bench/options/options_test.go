package options_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/lab/bench/options"
)

var parts = []string{"engines", "first-tick", "cluster", "sleep", "pause", "breaking-point"}

func TestEveryPartIsMeasuredUnlessAFlagSaysWhich(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{nil, parts},
		{[]string{"-smoke"}, []string{"engines", "first-tick", "sleep", "breaking-point"}},
		{[]string{"-quick"}, []string{"first-tick"}},
		{[]string{"-api", "http://127.0.0.1:8080"}, []string{"first-tick"}},
		{[]string{"-smoke", "-parts", "sleep,engines"}, []string{"sleep", "engines"}},
		{[]string{"-api", "http://127.0.0.1:8080", "-parts", "breaking-point"}, []string{"breaking-point"}},
	} {
		o, err := options.Parse(tt.args, parts, io.Discard)
		require.NoError(t, err)
		require.Equal(t, tt.want, o.Parts, "%v", tt.args)
	}
}

func TestABadFlagIsRefusedWithWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"an unknown part", []string{"-parts", "all"},
			`invalid value "all" for flag -parts: must have only engines,first-tick`},
		{"an unknown system", []string{"-systems", "cron"},
			`invalid value "cron" for flag -systems: must have only bare-loop,temporal-schedules,almanac`},
		{"nothing to measure", []string{"-ticks", "0"}, "-ticks and -rounds must be at least 1"},
		{"a herd of less than nothing", []string{"-jobs", "-1"}, "-jobs must be from 0 to 10000"},
		{"a herd of yesterday", []string{"-created-before", "25h"}, "-created-before must be from 0s to 24h"},
		{"a window of two hours", []string{"-window", "2h"}, "-window must be from 1s to 1h"},
		{"what only this process can measure", []string{"-api", "http://127.0.0.1:8080", "-parts", "sleep"},
			"-api measures the parts first-tick, breaking-point and storm only"},
		{"an argument", []string{"lateness"}, `"lateness" is no flag`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := options.Parse(tt.args, parts, io.Discard)
			require.ErrorContains(t, err, tt.want)
		})
	}
}
