package telemetry

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func TestWhatIsDueAndNotSentIsLate(t *testing.T) {
	t.Parallel()
	var l load
	late := func(want int, oldest time.Duration) {
		t.Helper()
		n, age := l.late(noon)
		require.Equal(t, want, n)
		require.Equal(t, oldest, age)
	}
	late(0, 0)
	l.wait("held", noon.Add(time.Minute))
	l.wait("a", noon.Add(-2*time.Second))
	l.wait("b", noon.Add(-7*time.Second))
	late(2, 7*time.Second)
	l.send("b", noon.Add(-7*time.Second), noon)
	l.leave("b") // once its attempt has ended
	late(1, 2*time.Second)
	l.leave("a") // its job was changed
	late(0, 0)
}

func TestTheLogSaysOnceAMinuteThatAWorkerIsOverloaded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := load{log: slog.New(slog.NewTextHandler(&out, nil))}
	send := func(at time.Time, late time.Duration) { l.send("id", at.Add(-late), at) }
	send(noon, 5*time.Second)
	require.Empty(t, out.String())
	l.wait("waits", noon.Add(-9*time.Second))
	l.wait("held", noon.Add(time.Second))
	send(noon, 6*time.Second)
	require.Contains(t, out.String(), `level=WARN msg="overloaded: actions are sent late" late=2 oldest=9`)
	send(noon.Add(59*time.Second), time.Hour)
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	send(noon.Add(60*time.Second), time.Hour)
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
}

func TestTheLargestPunctualSecondIsKept(t *testing.T) {
	t.Parallel()
	var l load
	herd := func(due time.Time, n, late int) {
		for i := range n {
			delay := time.Second
			if i < late {
				delay = 1100 * time.Millisecond
			}
			l.send(fmt.Sprint(i), due, due.Add(delay))
		}
	}
	herd(noon, 100, 1)
	require.Zero(t, l.largestPunctual(noon.Add(59*time.Second)), "more may come")
	require.Equal(t, 100, l.largestPunctual(noon.Add(60*time.Second)))
	herd(noon.Add(time.Hour), 199, 2)
	require.Equal(t, 100, l.largestPunctual(noon.Add(2*time.Hour)), "more than one of a hundred was late")
	herd(noon.Add(3*time.Hour), 200, 2)
	require.Equal(t, 200, l.largestPunctual(noon.Add(4*time.Hour)))
	herd(noon.Add(5*time.Hour), 10, 0)
	require.Equal(t, 200, l.largestPunctual(noon.Add(6*time.Hour)))
	require.Empty(t, l.seconds, "what is judged is forgotten")
}

func TestAForecastIsShownAndComparedWithWhatWasSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		measured := &Telemetry{Registry: prometheus.NewRegistry(), log: slog.New(slog.NewTextHandler(&out, nil))}
		shown := func() (values []float64) {
			all, err := measured.Registry.Gather()
			require.NoError(t, err)
			for _, m := range all {
				values = append(values, m.GetMetric()[0].GetGauge().GetValue())
			}
			return values
		}
		show := measured.Forecasts()
		require.Empty(t, shown(), "none was made")
		show(noon, 5000)
		require.Equal(t, []float64{5000, float64(noon.Unix())}, shown())
		require.Empty(t, out.String(), "no worker is here")

		measured.load = &load{}
		show(noon, 1000)
		require.Empty(t, out.String())
		show(noon, 5000)
		require.Contains(t, out.String(), `level=WARN msg="more actions come due in one second than were seen to be sent in time" due=2026-11-24T12:00:00.000Z actions=5000 seen=0`)
		out.Reset()
		measured.load.punctual = 5000
		show(time.Time{}, 0)
		show(noon, 5000)
		require.Empty(t, out.String())
		time.Sleep(time.Hour + time.Second)
		require.Empty(t, shown(), "it is old")
	})
}
