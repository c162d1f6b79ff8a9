package notification

import "time"

// Limits of the tests of a collection's notifications, and of those of its jobs: whoever may run a job chooses when
// they are sent, and whoever may change one chooses to whom.
const (
	TestWindow       = 10 * time.Minute
	MaxTests         = 10  // within TestWindow
	MaxTestAddresses = 200 // to which they go; one test always may
)

// A Test is when notifications were tested, and to how many addresses it went.
type Test struct {
	At        time.Time `json:"at"`
	Addresses int       `json:"addresses"`
}

// Tests are those within TestWindow, oldest first.
type Tests []Test

// Wait returns how long another test to so many addresses has to wait; 0 if it need not.
func (t Tests) Wait(now time.Time, addresses int) time.Duration {
	recent := t.within(now)
	for len(recent) > 0 {
		sum := addresses
		for _, test := range recent {
			sum += test.Addresses
		}
		if len(recent) < MaxTests && sum <= MaxTestAddresses {
			break
		}
		recent = recent[1:]
	}
	dropped := len(t.within(now)) - len(recent)
	if dropped == 0 {
		return 0
	}
	return t.within(now)[dropped-1].At.Add(TestWindow).Sub(now)
}

// Add notes a test.
func (t *Tests) Add(now time.Time, addresses int) {
	*t = append(t.within(now), Test{At: now, Addresses: addresses})
}

func (t Tests) within(now time.Time) Tests {
	for len(t) > 0 && !now.Before(t[0].At.Add(TestWindow)) {
		t = t[1:]
	}
	return t
}
