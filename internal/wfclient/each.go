package wfclient

import (
	"sync"
	"time"
)

// Each makes at most MaxParallel calls at once. A call that takes longer than slowAfter no longer counts.
const (
	MaxParallel = 16
	slowAfter   = 300 * time.Millisecond
)

// Each calls ask for 0 to n-1, in parallel, and returns when all calls have ended. A workflow that does not
// answer does not hold up the others.
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
