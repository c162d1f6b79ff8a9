// Package lateness counts how late executions began, and what they waited for. It is pure.
//
// A [Stats] has a bounded size however many executions it counts: times are in classes that are 6 % wide, so its
// percentiles are right within that, and it keeps the ten slowest executions. It can be stored as JSON between two pages.
package lateness

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/bits"
	"slices"
	"time"

	"almanac/job"
)

// MaxSlowest is how many of the slowest executions are kept.
const MaxSlowest = 10

// A Stats counts executions.
type Stats struct {
	Count    int       `json:"n"`
	Lateness Histogram `json:"l,omitempty"`
	Worker   Histogram `json:"w,omitempty"` // what they waited for: see [job.Split]
	Server   Histogram `json:"t,omitempty"`
	Place    Histogram `json:"p,omitempty"`
	Send     Histogram `json:"s,omitempty"`
	Earlier  Histogram `json:"e,omitempty"` // from the start of the first attempt to that of the one that succeeded
	Slowest  []Slow    `json:"x,omitempty"` // the latest first
}

// A Slow is one of the slowest executions.
type Slow struct {
	Job      string        `json:"j"` // its name
	Due      time.Time     `json:"d"`
	Repeat   int           `json:"r"` // number of the execution
	Lateness time.Duration `json:"l"`
	Split    job.Split     `json:"s"`
	Earlier  time.Duration `json:"e,omitempty"`

	Registration int `json:"g,omitempty"` // of the job: see [job.ExecutionName]
}

// Add counts the executions of a job whose first attempts are among the records, which may be in any order.
func (s *Stats) Add(name string, registration int, records []job.Record) {
	succeeded := map[int]time.Time{} // start of the attempt that did, by execution
	for i := range records {
		if r := &records[i]; r.Outcome.Succeeded() && r.ActionName == job.MainAction {
			succeeded[r.Repeat] = r.Start
		}
	}
	for i := range records {
		r := &records[i]
		late, ok := r.Lateness()
		if !ok {
			continue
		}
		one := Slow{Job: name, Due: r.Due, Repeat: r.Repeat, Lateness: max(0, late), Split: r.Split(), Registration: registration}
		if at, ok := succeeded[r.Repeat]; ok {
			one.Earlier = max(0, at.Sub(r.Start))
		}
		s.add(&one)
	}
}

func (s *Stats) add(one *Slow) {
	s.Count++
	s.Lateness.add(one.Lateness)
	s.Worker.add(one.Split.Worker)
	s.Server.add(one.Split.Server)
	s.Place.add(one.Split.Place)
	s.Send.add(one.Split.Send)
	s.Earlier.add(one.Earlier)
	at, _ := slices.BinarySearchFunc(s.Slowest, one, func(a Slow, b *Slow) int {
		if a.Lateness == b.Lateness {
			return -1 // the one that was there stays before it
		}
		return cmp.Compare(b.Lateness, a.Lateness)
	})
	if at < MaxSlowest {
		s.Slowest = slices.Insert(s.Slowest, at, *one)
		s.Slowest = s.Slowest[:min(len(s.Slowest), MaxSlowest)]
	}
}

// A Histogram counts durations by classes: pairs of a class and its count, in order. The zero value is empty.
type Histogram [][2]int

// MarshalJSON implements [json.Marshaler]. It is short: each pair as the distance from the class before, and the count.
func (h Histogram) MarshalJSON() ([]byte, error) {
	var text []byte
	before := 0
	for _, pair := range h {
		text = binary.AppendUvarint(text, uint64(pair[0]-before))
		text = binary.AppendUvarint(text, uint64(pair[1]))
		before = pair[0]
	}
	return json.Marshal(text)
}

// UnmarshalJSON implements [json.Unmarshaler]. Counts that Add does not make are an error.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var pairs []byte
	if err := json.Unmarshal(text, &pairs); err != nil {
		return err
	}
	*h = nil
	last := 0
	for len(pairs) > 0 {
		step, n := binary.Uvarint(pairs)
		count, m := binary.Uvarint(pairs[max(0, n):])
		if n <= 0 || m <= 0 || step > uint64(class(math.MaxInt64)-last) || step == 0 && len(*h) > 0 || count == 0 || count > maxCount {
			return errCounts
		}
		last += int(step)
		*h, pairs = append(*h, [2]int{last, int(count)}), pairs[n+m:]
	}
	return nil
}

// maxCount is how many executions a class counts at most, far more than are ever read.
const maxCount = 1 << 40

var errCounts = errors.New("the counts of a histogram are none that it makes")

// class returns the class of a duration: an exponent and the four highest bits of its microseconds.
func class(d time.Duration) int {
	us := uint64(max(0, d.Microseconds()))
	exponent := max(0, bits.Len64(us)-5)
	return exponent<<5 | int(us>>exponent)
}

// upper returns the longest duration of a class.
func upper(class int) time.Duration {
	exponent := class >> 5
	return time.Duration(uint64(class&31+1)<<exponent-1) * time.Microsecond
}

func (h *Histogram) add(d time.Duration) {
	c := class(d)
	at, found := slices.BinarySearchFunc(*h, c, func(pair [2]int, c int) int { return pair[0] - c })
	if !found {
		*h = slices.Insert(*h, at, [2]int{c, 0})
	}
	(*h)[at][1]++
}

// Percentile returns the duration that p of a hundred do not exceed, rounded up within 6 %; 0 of none.
func (h Histogram) Percentile(p float64) time.Duration {
	total := h.Below(-1)
	if total == 0 {
		return 0
	}
	want := max(1, int(p/100*float64(total)+0.999999))
	for _, pair := range h {
		if want -= pair[1]; want <= 0 {
			return upper(pair[0])
		}
	}
	return upper(h[len(h)-1][0])
}

// Below returns how many are in classes below a bound, of which that of the bound is none; all for a negative one.
func (h Histogram) Below(bound time.Duration) (count int) {
	for _, pair := range h {
		if bound < 0 || pair[0] < class(bound) {
			count += pair[1]
		}
	}
	return count
}

// Bounds are the upper bounds of the bars of a histogram, but of the last, which has none.
var Bounds = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
}

// A Report is how late the executions of a scope began in a window.
type Report struct {
	Stats
	From, Until time.Time // of the starts of their first attempts
	Jobs        int       // of the scope
	Read        int       // of these, with this page and those before
	Unread      []Unread  // of these, on this page
	Complete    bool      // all jobs were read
}

// An Unread is a job that could not be read.
type Unread struct {
	Job string `json:"j"`
	Why string `json:"y"`
}
