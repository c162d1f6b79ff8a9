package calls

import (
	"sync"
	"time"
)

// MaxParallel bounds how many workflows are asked at once, but for those that take longer
// than slowAfter: they make room for others.
const (
	MaxParallel = 16
	slowAfter   = 300 * time.Millisecond
)

// Each asks each of n workflows, in parallel. One that does not answer soon keeps none of
// the others from being asked.
func Each(n int, ask func(i int)) {
	places := make(chan struct{}, MaxParallel)
	var group sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		group.Go(func() {
			leave := sync.OnceFunc(func() { <-places })
			defer leave()
			defer time.AfterFunc(slowAfter, leave).Stop()
			ask(i)
		})
	}
	group.Wait()
}
