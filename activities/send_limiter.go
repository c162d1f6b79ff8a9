package activities

import (
	"runtime"
	"sync"
	"time"
)

// A sendLimiter limits how many sends begin at once. The zero value is ready for use.
//
// This sends a herd sooner than starting all of it together: requests begun leave quickly, and later
// ones reuse the connections of the first. A slow receiver delays no one, since a place is kept for at
// most placeTime.
type sendLimiter struct {
	once   sync.Once
	places chan struct{}
}

const (
	placesPerCPU = 8                    // sends that begin at the same time
	placeTime    = 2 * time.Millisecond // longest time that a send keeps its place
)

// begin waits for a place. The place is freed by end, or after placeTime; begun is then called once.
func (p *sendLimiter) begin(begun func()) (end func()) {
	p.once.Do(func() { p.places = make(chan struct{}, placesPerCPU*runtime.GOMAXPROCS(0)) })
	p.places <- struct{}{}
	free := sync.OnceFunc(func() {
		<-p.places
		begun()
	})
	timer := time.AfterFunc(placeTime, free)
	return func() {
		timer.Stop()
		free()
	}
}
