package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

var (
	begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	job   = record.Job{Collection: "c", Name: "j", Incarnation: 1}
)

// at returns a time, in seconds after begin.
func at(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }

// run returns the log of a job that is due every minute and runs at six due times. A worker
// is killed at some time and ready again ten seconds later.
func runLog(killed float64) *record.Log {
	l := &record.Log{Run: record.Run{Quiet: at(310), Frozen: at(400)}}
	created := record.Try{Issued: at(-30), Answered: at(-29), Status: 201}
	l.Changes = []record.Change{{Job: job, Kind: record.Create,
		Definition: &record.Definition{Version: 1, Start: begin, Overlap: "bufferOne"}, Tries: []record.Try{created}}}
	l.Faults = []record.Fault{{Kind: record.FaultKill, Target: "worker1", Aim: "random",
		Stops: []string{record.Worker}, Start: at(killed), Restart: at(killed + 9), End: at(killed + 10)}}
	read := record.Read{Job: job, Issued: at(401), Status: 200, State: "enabled", Version: 1, Final: true,
		ListedState: "enabled", ListedCount: -1}
	for i := range 6 {
		due := 60 * float64(i)
		l.Requests = append(l.Requests, record.Request{
			Job: job, Version: 1, Action: record.MainAction, ID: fmt.Sprintf("id-%g", due), Due: at(due),
			Arrived: at(due + 0.002), Answered: at(due + 0.012), Status: 200,
		})
		read.Entries = append(read.Entries, record.Entry{Start: at(due + 0.001), End: at(due + 0.021), Due: at(due),
			Status: "Completed", Repeat: i + 1, Action: record.MainAction})
	}
	l.Reads = []record.Read{read}
	return l
}

func TestFiguresTellCalmTimesFromFaults(t *testing.T) {
	t.Parallel()
	f := summarize(runLog(170))
	require.Equal(t, 6, f.executions)
	require.Len(t, f.lateness, 3)
	require.Equal(t, "calm", f.lateness[0].name)
	require.Equal(t, 4, f.lateness[0].N)
	require.Equal(t, 2*time.Millisecond, f.lateness[0].P99)
	require.Equal(t, "kill of worker: due after it", f.lateness[1].name)
	require.Equal(t, "kill of worker: due during it", f.lateness[2].name)
	require.Equal(t, []string{"all create", "in calm: not due"}, []string{f.answers[0].name, f.answers[1].name})
}

func TestATimelineHasWhatHappenedToAJobAroundATime(t *testing.T) {
	t.Parallel()
	lines := strings.Join(timelineOf(runLog(119), job, at(120)), "\n")
	for _, want := range []string{
		"12:01:59.000  fault: kill of worker1", "12:02:00.000  due: id-120", "12:02:00.002  received: main of id-120",
		"12:02:00.012  answered 200", "12:02:00.001  history: main due 12:02:00.000 attempt 1 of execution 3 Completed",
	} {
		require.Contains(t, lines, want)
	}
	require.NotContains(t, lines, "id-0")
}

func TestTheReportShowsTheTimelineOfAViolation(t *testing.T) {
	t.Parallel()
	l := runLog(119)
	l.Requests[3].Arrived = at(179.9)
	text := string(reportText(l, checker.Check(l)))
	require.Regexp(t, `4 never early +\| 1 +\| 0`, text)
	require.Contains(t, text, "main of id-180 due 12:03:00.000 arrived 100ms early")
	require.Contains(t, text, "12:03:00.000  due: id-180")
}

func TestALogThatIsWrittenCanBeReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := runLog(119)
	require.NoError(t, l.Write(dir))
	read, err := record.ReadLog(dir)
	require.NoError(t, err)
	require.Equal(t, l, read)
}
