package activities

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGarbageIsCollectedBeforeManyAreDue(t *testing.T) {
	t.Parallel()
	type many struct {
		due  time.Duration
		held int
	}
	for _, tt := range []struct {
		name  string
		herds []many
		want  []time.Duration // times of garbage collections
	}{
		{"not before a few", []many{{time.Minute, crowd - 1}}, nil},
		{"once before many", []many{{time.Minute, 3 * crowd}}, []time.Duration{time.Minute - tidyAhead}},
		{"once before those that are due soon after one another", []many{{time.Minute, crowd}, {time.Minute + 2*time.Second, crowd}},
			[]time.Duration{time.Minute - tidyAhead}},
		{"again before later ones", []many{{time.Minute, crowd}, {2 * time.Minute, crowd}},
			[]time.Duration{time.Minute - tidyAhead, 2*time.Minute - tidyAhead}},
		{"at once before those that are due soon", []many{{time.Second, crowd}}, []time.Duration{0}},
		{"not where it would go on while they are sent", []many{{tidyTooLate - 1, crowd}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var mu sync.Mutex
				var got []time.Duration
				h := holds{collect: func() {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, time.Since(start))
				}}
				for _, herd := range tt.herds {
					for i := range herd.held {
						h.enter(strconv.Itoa(i), start.Add(herd.due), herd.due, maxWindow)
					}
				}
				time.Sleep(5 * time.Minute)
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, tt.want, got)
			})
		})
	}
}
