package completions

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/latency"
)

// A herd is completions that a Limiter lets pass. Its server answers each after a time, and gives the worker the
// workflow's task then.
type herd struct {
	*Limiter
	answer func() time.Duration
	limit  time.Time // time limit of the activities

	mu         sync.Mutex
	begun      []string
	open, most int // at the server
}

// complete completes n activities from now on. The names of their workflows begin with name.
func (h *herd) complete(name string, n int, urgent <-chan struct{}) (group *sync.WaitGroup) {
	group = new(sync.WaitGroup)
	for i := range n {
		id := fmt.Sprint(name, i)
		group.Go(func() {
			h.enter(id, []byte(id), h.limit, urgent, nil)
			h.mu.Lock()
			h.begun = append(h.begun, id)
			h.open++
			h.most = max(h.most, h.open)
			h.mu.Unlock()
			time.Sleep(h.answer())
			h.mu.Lock()
			h.open--
			h.mu.Unlock()
			h.Sent([]byte(id))
			h.Received(id)
		})
		synctest.Wait() // in this order
	}
	return group
}

func takes(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func TestThePlacesFollowHowLongAnswersTake(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer time.Duration
		want   float64
	}{
		{"more if they are quick", quickAnswer - 1, mostPlaces},
		{"as many if they are not", quickAnswer, leastPlaces},
		{"as many if they are slow", slowAnswer + 1, leastPlaces},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &herd{Limiter: New(nil), answer: takes(tt.answer)}
				h.complete("", 3000, nil).Wait()
				require.InDelta(t, tt.want, h.places, 1)
			})
		})
	}
}

// A worker that takes the tasks of workflows one after another, each some time after another.
type slowWorker struct {
	*Limiter
	each time.Duration

	busy          chan struct{} // one place
	mu            sync.Mutex
	waiting, most int
}

// take takes the task of a workflow that was completed now, when it is its turn.
func (w *slowWorker) take(id string) {
	since := time.Now()
	w.mu.Lock()
	w.waiting++
	w.most = max(w.most, w.waiting)
	w.mu.Unlock()
	w.busy <- struct{}{}
	defer func() { <-w.busy }()
	w.mu.Lock()
	w.waiting--
	w.mu.Unlock()
	w.Waited(time.Since(since))
	w.Received(id)
	time.Sleep(w.each)
}

func TestTheTasksOfAHerdDoNotQueueUpHoweverLongOneTakes(t *testing.T) {
	t.Parallel()
	for _, each := range []time.Duration{2 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(each.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &slowWorker{Limiter: New(nil), each: each, busy: make(chan struct{}, 1)}
				var herd sync.WaitGroup
				for i := range 2000 {
					herd.Go(func() {
						id := fmt.Sprint(i)
						w.enter(id, []byte(id), time.Now().Add(time.Hour), nil, nil)
						time.Sleep(10 * time.Millisecond)
						w.Sent([]byte(id))
						w.take(id)
					})
				}
				herd.Wait()
				// The first tasks come before any has waited, so that some more than there are places may.
				require.LessOrEqual(t, w.most, 3*mostPlaces)
			})
		})
	}
}

func TestHowLongAPlaceIsKeptForATaskThatDoesNotCome(t *testing.T) {
	t.Parallel()
	wait := func(r *Limiter, each time.Duration, n int) {
		for range n {
			r.Waited(each)
		}
	}
	for _, tt := range []struct {
		name   string
		before func(*Limiter)
		urgent bool
		want   time.Duration
	}{
		{"tasks do not wait", func(r *Limiter) { wait(r, time.Millisecond, 100) }, false, leastTaskTime},
		{"they wait", func(r *Limiter) { wait(r, 300*time.Millisecond, 1000) }, false, 600 * time.Millisecond},
		{"they waited an hour for a worker to come back", func(r *Limiter) { wait(r, time.Hour, 1000) }, false, mostTaskTime},
		{"an urgent one, while they wait", func(r *Limiter) { wait(r, time.Hour, 1000) }, true, leastTaskTime},
		{"another process has had them lately", func(r *Limiter) {
			wait(r, time.Hour, 1000)
			time.Sleep(staleTasks + 1)
		}, false, leastTaskTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(nil)
				tt.before(r)
				r.places = 1
				r.enter("one", []byte("one"), time.Now().Add(time.Hour), nil, nil)
				r.open[0].urgent = tt.urgent
				answered := time.Now()
				r.Sent([]byte("one"))
				r.enter("next", []byte("next"), time.Now().Add(time.Hour), nil, nil)
				require.InDelta(t, tt.want, time.Since(answered), float64(tt.want)/100)
			})
		})
	}
}

func TestPlacesComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &herd{Limiter: New(nil), answer: takes(quickAnswer / 2)}
		h.complete("quick", 3000, nil).Wait()
		require.InDelta(t, mostPlaces, h.places, 1)
		h.answer = takes(slowAnswer + 1)
		h.complete("slow", 600, nil).Wait()
		require.InDelta(t, leastPlaces, h.places, 1)
	})
}

func TestTheOutcomesWhoseLimitsEndFirstAreReportedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &herd{Limiter: New(nil)}
		var answers atomic.Int64 // one second after the other, so that one place becomes free after the other
		h.answer = func() time.Duration { return time.Duration(answers.Add(1)) * time.Second }
		h.limit = time.Now().Add(5 * time.Minute)
		first := h.complete("first", leastPlaces, nil)
		h.limit = time.Now().Add(3 * time.Minute)
		late := h.complete("late", 3, nil)
		h.limit = time.Now().Add(2 * time.Minute)
		early := h.complete("early", 2, nil)
		h.limit = time.Now().Add(10 * time.Minute)
		urgent := make(chan struct{})
		last := h.complete("last", 2, urgent)
		close(urgent)
		synctest.Wait()
		for _, g := range []*sync.WaitGroup{first, late, early, last} {
			g.Wait()
		}
		require.ElementsMatch(t, []string{"last0", "last1"}, h.begun[leastPlaces:leastPlaces+2], "urgent ones need not wait")
		require.ElementsMatch(t, []string{"early0", "early1"}, h.begun[leastPlaces+2:leastPlaces+4])
		require.ElementsMatch(t, []string{"late0", "late1", "late2"}, h.begun[leastPlaces+4:])
	})
}

func TestUrgentOutcomesAreReportedAFewAtATime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		limit  time.Duration
		urgent bool
	}{
		{"when many are cancelled, or the worker stops", time.Hour, true},
		{"when the limit of many is near", urgentTime + 100*time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				urgent := make(chan struct{})
				h := &herd{Limiter: New(nil), answer: takes(quickAnswer), limit: time.Now().Add(tt.limit)}
				all := h.complete("", 1000, urgent)
				if tt.urgent {
					close(urgent)
				}
				all.Wait()
				require.Equal(t, leastPlaces+urgentPlaces, h.most)
			})
		})
	}
}

func TestAnOutcomeThatCannotBeReportedInTimeDoesNotWaitAnyLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, limit := New(nil), time.Now().Add(30*time.Second)
		for i := range leastPlaces + urgentPlaces {
			id := fmt.Sprint(i)
			r.enter(id, []byte(id), time.Now().Add(time.Duration(i/leastPlaces)*time.Second), nil, nil)
		}
		r.enter("late", nil, limit, nil, nil)
		require.Equal(t, limit, time.Now())
		require.Empty(t, r.waiting)
	})
}

func TestAnOutcomeIsRecordedLaterIfManyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(latency.Meter)
		h := &herd{Limiter: New(m), answer: takes(quickAnswer)}
		require.Equal(t, leastRecord, h.RecordAfter())
		all := h.complete("", 2000, nil)
		time.Sleep(2*time.Second + quickAnswer/2)
		require.InDelta(t, 1680*quickAnswer/leastPlaces, h.RecordAfter(), float64(2*time.Second), "as long as they are expected to wait")
		all.Wait()
		require.Equal(t, leastRecord, h.RecordAfter())
		for range 100 {
			end := m.Begin()
			time.Sleep(5 * time.Second)
			end()
		}
		require.InDelta(t, 15*time.Second, h.RecordAfter(), float64(time.Second), "while the server is slow")
	})
}

func TestRecordsOfOutcomesThatWaitAreMadeAFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, begin, done := New(nil), time.Now(), make(chan struct{})
		for range recordPlaces {
			require.NotNil(t, r.EnterRecord(done, begin.Add(time.Minute)))
		}
		require.NotNil(t, r.EnterRecord(done, begin.Add(time.Minute)), "it would count as lost")
		require.Equal(t, time.Minute, time.Since(begin))
		time.AfterFunc(time.Second, func() { close(done) })
		require.Nil(t, r.EnterRecord(done, time.Now().Add(time.Minute)), "it is reported")
		require.Equal(t, time.Minute+time.Second, time.Since(begin))
	})
}

func TestOutcomesYieldToRequestsThatAreTakenOverForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &herd{Limiter: New(nil), answer: takes(quickAnswer)}
		begin := time.Now()
		h.Yield()
		all := h.complete("", 500, nil)
		time.Sleep(yieldTime - quickAnswer/2)
		h.mu.Lock()
		require.Equal(t, yieldPlaces, h.most)
		h.mu.Unlock()
		h.Yield() // of a server that is slow, so that attempts count as lost again and again
		time.Sleep(quickAnswer)
		h.mu.Lock()
		require.Equal(t, leastPlaces, h.most)
		h.mu.Unlock()
		all.Wait()
		require.Less(t, time.Since(begin), 2*yieldTime+time.Second)
	})
}
