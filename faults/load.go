//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"almanac/faults/laws"
)

// A subject is one name of a job. Its lock is held while it is changed.
type subject struct {
	mu         sync.Mutex
	at         laws.Job // the life that it is in
	definition laws.Definition
}

// collections is how many collections the jobs are spread over. The last one has
// a tenth of the jobs, and is disabled and enabled again now and then.
const collections = 3

// newSubjects returns n jobs that are due from begin on.
func newSubjects(n int, begin time.Time, length time.Duration, random *rand.Rand) []*subject {
	var all []*subject
	for i := range n {
		collection := i % (collections - 1)
		if i%10 == 9 {
			collection = collections - 1
		}
		all = append(all, &subject{
			at:         laws.Job{Collection: fmt.Sprintf("faults%d", collection), Name: fmt.Sprintf("j%05d", i), Life: 1},
			definition: newDefinition(begin, length, random),
		})
	}
	return all
}

// herds are the seconds of the minute in which many jobs are due together.
var herds = []int{5, 25, 45}

// newStart returns a start from begin on: one of three in a herd, the others
// spread over the minute.
func newStart(begin time.Time, random *rand.Rand) time.Time {
	second := random.IntN(60)
	if random.IntN(3) == 0 {
		second = herds[random.IntN(len(herds))]
	}
	start := begin.Truncate(time.Minute).Add(time.Duration(second) * time.Second)
	if start.Before(begin) {
		start = start.Add(time.Minute)
	}
	return start
}

// pick returns one of some words, each as often as it is given.
func pick(random *rand.Rand, words ...string) string { return words[random.IntN(len(words))] }

func newDefinition(begin time.Time, length time.Duration, random *rand.Rand) laws.Definition {
	d := laws.Definition{
		Version: 1, Start: newStart(begin, random),
		Overlap: pick(random, "bufferOne", "bufferOne", "skip", "allowAll"),
		CatchUp: random.IntN(5) < 2,
	}
	if random.IntN(10) >= 3 {
		d.Retries, d.RetryInterval = 1+random.IntN(3), 15*time.Second // the shortest that is allowed
	}
	d.ErrorAction = random.IntN(10) < 3
	d.Behaviour = behaviour(random)
	switch random.IntN(20) {
	case 0, 1:
		d.Count = 2 + random.IntN(max(6, int(length/time.Minute)))
	case 2:
		d.Once = true
		d.Start = d.Start.Add(time.Duration(random.Int64N(int64(length)))).Truncate(time.Second)
	case 3, 4: // not due soon: its workflow begins later, or when it is changed
		d.Start = d.Start.Add(time.Duration(2+random.IntN(5)) * time.Minute)
	}
	return d
}

// behaviour returns what the receiver does with a job's requests.
func behaviour(random *rand.Rand) string {
	switch n := random.IntN(100); {
	case n < 60:
		return "ok"
	case n < 68:
		return fmt.Sprintf("slow-%d", 1+random.IntN(8))
	case n < 74:
		return "slow-20"
	case n < 76:
		return "slow-50"
	case n < 86:
		return fmt.Sprintf("flaky-%d", 20+random.IntN(40))
	case n < 92:
		return "fail"
	}
	return fmt.Sprintf("throttle-%d", 1+random.IntN(30))
}

// A body is a job, or a part of it, as the REST API reads it.
type body struct {
	Properties properties `json:"properties"`
}

type properties struct {
	StartTime  string      `json:"startTime,omitempty"`
	Action     *action     `json:"action,omitempty"`
	Recurrence *repetition `json:"recurrence,omitempty"`
	State      string      `json:"state,omitempty"`
}

type action struct {
	Type        string       `json:"type"`
	Request     webRequest   `json:"request"`
	RetryPolicy *retryPolicy `json:"retryPolicy,omitempty"`
	ErrorAction *action      `json:"errorAction,omitempty"`
}

type webRequest struct {
	Method string `json:"method"`
	URI    string `json:"uri"`
}

type retryPolicy struct {
	RetryType     string `json:"retryType"`
	RetryInterval string `json:"retryInterval,omitempty"`
	RetryCount    int    `json:"retryCount,omitempty"`
}

type repetition struct {
	Frequency     string `json:"frequency"`
	Interval      int    `json:"interval,omitempty"`
	Count         int    `json:"count,omitempty"`
	OverlapPolicy string `json:"overlapPolicy,omitempty"`
	CatchUpWindow string `json:"catchUpWindow,omitempty"`
}

// definitionBody returns the body of a PUT.
func (r *receiver) definitionBody(j laws.Job, d laws.Definition) string {
	p := properties{StartTime: d.Start.Format(time.RFC3339), Action: r.action(j, d)}
	if !d.Once {
		p.Recurrence = &repetition{Frequency: "minute", Interval: 1, Count: d.Count, OverlapPolicy: d.Overlap}
		if d.CatchUp {
			p.Recurrence.CatchUpWindow = "PT1H"
		}
	}
	return encode(p)
}

func (r *receiver) action(j laws.Job, d laws.Definition) *action {
	a := &action{
		Type: "Http", Request: webRequest{"GET", r.uri(j, d.Version, laws.Main, d.Behaviour)},
		RetryPolicy: &retryPolicy{RetryType: "none"},
	}
	if d.Retries > 0 {
		a.RetryPolicy = &retryPolicy{"fixed", fmt.Sprintf("PT%dS", int(d.RetryInterval.Seconds())), d.Retries}
	}
	if d.ErrorAction {
		a.ErrorAction = &action{Type: "Http", Request: webRequest{"GET", r.uri(j, d.Version, laws.Error, "ok")}}
	}
	return a
}

func encode(p properties) string {
	text, _ := json.Marshal(body{p}) // it holds nothing that cannot be encoded
	return string(text)
}

// next returns when a job is due next after an instant, if it is.
func (s *subject) next(after time.Time) (time.Time, bool) {
	d := s.definition
	if d.Once || d.Start.After(after) {
		return d.Start, d.Start.After(after)
	}
	return d.Start.Add(after.Sub(d.Start).Truncate(time.Minute) + time.Minute), true
}
