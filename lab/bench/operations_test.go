package bench

import (
	"io"
	"log"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/bench/page"
	"almanac/lab/bench/systems"
	"almanac/lab/record"
)

func request(job string, due, arrived, answered time.Time) record.Request {
	return record.Request{Job: record.Job{Name: job}, Due: due, Arrived: arrived, Answered: answered}
}

func TestRequestsAtOnceAreThoseThatAreNotOver(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	ofJob, all := mostAtOnce([]record.Request{
		request("a", at(0), at(1), at(2)), request("a", at(0), at(2), at(4)), request("a", at(0), at(3), at(4)),
		request("b", at(0), at(3), at(5)),
	})
	require.Equal(t, []int{2, 3}, []int{ofJob, all})
}

func TestTheFullestPartOfAWindowIsHeldAgainstTheMean(t *testing.T) {
	t.Parallel()
	var starts []time.Duration
	for s := range 300 {
		starts = append(starts, time.Duration(s)*time.Second)
	}
	require.InDelta(t, 1, fullest(starts, time.Second), 1e-9)
	starts = append(starts, 299*time.Second+time.Millisecond)
	require.InDelta(t, 2*300.0/301, fullest(starts, time.Second), 1e-9)
	require.InDelta(t, 1.1*300/301, fullest(starts, 10*time.Second), 1e-9)
}

func TestAPromiseIsHeldAgainstWhatCame(t *testing.T) {
	t.Parallel()
	b := &bench{page: page.Page{Progress: log.New(io.Discard, "", 0)}}
	first := time.Unix(600, 0)
	last, start := first.Add(time.Minute), first.Add(5*time.Minute)
	h := systems.Herd{Jobs: 2, First: first}
	after := func(s time.Duration) time.Time { return start.Add(s * time.Second) }
	b.addPromise(promise{"all", 1, true}, &h, last, 4, start, time.Second, []record.Request{
		request("a", first, after(2), after(3)), request("a", last, after(3), after(4)),
		request("b", first, after(2), after(4)), request("b", first, after(3), after(4)), // twice
		request("b", last.Add(time.Hour), after(9), after(10)), // not promised
	})
	require.Equal(t, page.Rows{{
		"2 jobs, paused with their collection, `recover=all&atOnce=1`", "1.0 s", "3.0 s", "4", "1", "2", "2", "3",
	}}, b.page.Pause)
	require.Equal(t, []string{"met", "missed", "missed"}, []string{b.page.Goals[0][3], b.page.Goals[1][3], b.page.Goals[2][3]})
}
