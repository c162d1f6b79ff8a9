package activities

import (
	"runtime"
	"sync"
	"time"
)

// A pace has sends begin a few at a time. The zero value is ready for use.
//
// A herd that is due at one instant is sent sooner in this way than all at once:
// what is begun is soon under way, and the connections that the first ones open
// serve those after them. A send that waits for its receiver holds up nobody: it
// has its place for a moment only.
type pace struct {
	once   sync.Once
	places chan struct{}
}

const (
	placesPerCPU = 8                    // sends that begin at the same time
	placeTime    = 2 * time.Millisecond // for which a send has its place, if it is not done before
)

// begin waits for a place. What frees it again, which happens by itself after a
// while, calls begun.
func (p *pace) begin(begun func()) (end func()) {
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
