package faults

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/faults/nemesis"
	"almanac/lab/record"
)

func TestFlagsSelectFaultsAndAims(t *testing.T) {
	t.Parallel()
	o, err := parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.NotZero(t, o.seed)
	require.Equal(t, nemesis.Kinds["one"], o.faults)
	require.Equal(t, nemesis.Aims, o.aims)

	o, err = parseOptions([]string{"-form", "cluster", "-seed", "7", "-faults", "kill,cut", "-duration", "90s"},
		io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{record.FaultKill, record.FaultCut}, o.faults)
	require.Equal(t, 90*time.Second, o.duration)

	o, err = parseOptions([]string{"-faults", "none"}, io.Discard)
	require.NoError(t, err)
	require.Empty(t, o.faults)

	o, err = parseOptions([]string{"-faults", "kill,overload", "-aims", "before the timer,fan-out"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{record.FaultKill, record.FaultOverload}, o.faults)
	require.Equal(t, []string{nemesis.AimTimer, nemesis.AimFanOut}, o.aims)
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-form", "two"}, `-form must be one, cluster or postgres (got "two")`},
		{[]string{"-jobs", "0"}, "-jobs must be between 1 and 10000 (got 0)"},
		{[]string{"-settle", "0s"}, "-settle must be between 1s and 24h (got 0s)"},
		{[]string{"-changes", "-1"}, "-changes must be at least 0 (got -1)"},
		{[]string{"-calendars", "201"}, "-calendars must be between 0 and 200 (got 201)"},
		{[]string{"-tolerance", "-1s"}, "-tolerance must be at least 0s (got -1s)"},
		{[]string{"-form", "cluster", "-changes-after", "cut"}, `-changes-after must be none, kill, pause (got "cut")`},
		{[]string{"-changes-after", "kill"},
			"-changes-after and -lateness-after need two workers: -form must be cluster or postgres"},
		{[]string{"-form", "cluster", "-lateness-after", "cut"},
			`-lateness-after must be none, kill, pause (got "cut")`},
		{[]string{"-workers", "11"}, "-workers must be between 1 and 10 (got 11)"},
		{[]string{"-victims", "3"}, "-victims must be between 1 and the number of workers (got 3)"},
		{[]string{"-spread", "61"}, "-spread must be between 1 and 60 (got 61)"},
		{[]string{"-fault-at", "1m"}, "-fault-at must be at least 0s and less than 1m (got 1m0s)"},
		{[]string{"-faults", "cut"}, `-faults must be all, none or some of kill,pause,stop,down,disk,flags,keys,overload,storm in the form one (got "cut")`},
		{[]string{"-aims", "create,late"}, "-aims must be all or some of " + strings.Join(nemesis.Aims, ",") +
			` (got "late")`},
		{[]string{"-aims", "none"}, "-aims must be all or some of " + strings.Join(nemesis.Aims, ",") +
			` (got "none")`},
		{[]string{"five"}, `"five" is no flag; see -h`},
	} {
		_, err := parseOptions(tt.args, io.Discard)
		require.EqualError(t, err, tt.want)
	}
}
