package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// late returns a herd whose measured ticks have that lateness, in milliseconds.
func late(system string, jobs int, p50, p99 float64) herdResult {
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	return herdResult{system, jobs, []tick{{lateness: spread{n: jobs, p50: ms(p50), p99: ms(p99), max: ms(p99)}}}}
}

func TestThePlotIsXMLAndNamesWhatItShows(t *testing.T) {
	t.Parallel()
	r := newResults(options{}, machine{}, "")
	r.herds = []herdResult{
		late(nameAlmanac, 1, 0, 0), late(nameAlmanac, 1000, 41, 74), late(nameSchedules, 1000, 18_000, 36_000),
	}
	picture := r.plot().svg()
	for _, want := range []string{"1,000 jobs", "Temporal Schedules, 1,000 jobs: p50 18.0 s, p99 36.0 s", ">100 s<", ">0.1 ms<"} {
		require.Contains(t, picture, want)
	}
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestTheScaleHoldsAllRanges(t *testing.T) {
	t.Parallel()
	s := plot{groups: []plotGroup{{ranges: []*plotRange{{3, 250}, nil, {20, 36_000}}}}}.scale()
	require.Equal(t, logScale{0, 5}, s)
	require.InDelta(t, plotHeight-plotBottom, s.y(1), 0.01)
	require.InDelta(t, plotTop, s.y(100_000), 0.01)
	require.Equal(t, logScale{0, 1}, plot{}.scale(), "with nothing to show")
}
