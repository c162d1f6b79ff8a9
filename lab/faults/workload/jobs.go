package workload

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"almanac/lab/client"
	"almanac/lab/receiver"
	"almanac/lab/record"
)

// A Job is a job that the workload changes. It is locked while it is changed.
type Job struct {
	sync.Mutex
	ID         record.Job // the current incarnation
	Definition record.Definition

	inHerd  bool // one of many that are due in the same second
	created bool // of the collection with a quota: it stays

	promises // of those that are paused, skipped and backfilled
}

// collections is the number of collections that the jobs are spread over. The last one has a tenth of the
// jobs, and is disabled and enabled again now and then.
const collections = 3

func collectionName(i int) string { return fmt.Sprintf("faults%d", i) }

// Collections returns the names of all collections.
func Collections() []string {
	var names []string
	for i := range collections {
		names = append(names, collectionName(i))
	}
	names = append(names, record.QuotaCollection)
	for i := range promiseCollections {
		names = append(names, promiseCollection(i))
	}
	for i := range calendarCollections {
		names = append(names, calendarCollection(i))
	}
	return names
}

// NewJobs returns n jobs that are due from begin on, for a run of that length. The first herd of them are due every
// minute, in one second of it.
func NewJobs(n, herd int, begin time.Time, length time.Duration, random *rand.Rand) []*Job {
	var all []*Job
	for i := range n {
		collection := i % (collections - 1)
		if i%10 == 9 {
			collection = collections - 1
		}
		j := &Job{
			ID: record.Job{Collection: collectionName(collection), Name: fmt.Sprintf("j%05d", i),
				Incarnation: 1},
			Definition: newDefinition(begin, length, random), inHerd: i < herd,
		}
		if j.inHerd {
			j.Definition.Once, j.Definition.Count, j.Definition.Start = false, 0, startIn(begin, herdSecond)
		}
		all = append(all, j)
	}
	return all
}

// herdSeconds are the seconds of the minute in which many jobs are due together, and herdSecond that of the herd of
// [NewJobs].
var herdSeconds = []int{5, 25, 45}

const herdSecond = 35

// newStart returns a start from begin on: one of three in a herd, the others spread over the minute.
func newStart(begin time.Time, random *rand.Rand) time.Time {
	second := random.IntN(60)
	if random.IntN(3) == 0 {
		second = herdSeconds[random.IntN(len(herdSeconds))]
	}
	return startIn(begin, second)
}

// startIn returns the first time from begin on that is in a second of the minute.
func startIn(begin time.Time, second int) time.Time {
	start := begin.Truncate(time.Minute).Add(time.Duration(second) * time.Second)
	if start.Before(begin) {
		start = start.Add(time.Minute)
	}
	return start
}

func newDefinition(begin time.Time, length time.Duration, random *rand.Rand) record.Definition {
	overlaps := []string{"bufferOne", "bufferOne", "skip", "allowAll"}
	d := record.Definition{
		Version: 1, Start: newStart(begin, random),
		Overlap: overlaps[random.IntN(len(overlaps))],
		CatchUp: random.IntN(5) < 2,
	}
	if random.IntN(10) >= 3 {
		d.Retries, d.RetryInterval = 1+random.IntN(3), retryInterval
	}
	d.ErrorAction = random.IntN(10) < 3
	d.Behaviour = behaviour(random)
	switch random.IntN(20) {
	case 0, 1:
		d.Count = 2 + random.IntN(max(6, int(length/time.Minute)))
	case 2:
		d.Once = true
		d.Start = d.Start.Add(time.Duration(random.Int64N(int64(length)))).Truncate(time.Second)
	case 3, 4: // not due soon: its workflow starts later, or when it is changed
		d.Start = d.Start.Add(time.Duration(2+random.IntN(5)) * time.Minute)
	}
	return d
}

// retryInterval is the minimum that Almanac allows.
const retryInterval = 15 * time.Second

// oneTime returns the definition of a one-time job.
func oneTime(due time.Time) record.Definition {
	return record.Definition{
		Version: 1, Start: due.UTC().Truncate(time.Second), Once: true,
		Retries: 2, RetryInterval: retryInterval, Overlap: "bufferOne", Behaviour: "ok",
	}
}

// behaviour returns a behaviour of the receiver.
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

// Next returns the first due time of the job after t. It is false if there is none.
func (j *Job) Next(t time.Time) (time.Time, bool) {
	d := j.Definition
	if d.Once || d.Start.After(t) {
		return d.Start, d.Start.After(t)
	}
	return d.Start.Add(t.Sub(d.Start).Truncate(time.Minute) + time.Minute), true
}

// NewUniformJobs returns n jobs that are due every minute and answered at once, from begin on, in some seconds of the
// minute that are evenly apart. Two of three have a retry.
func NewUniformJobs(n int, begin time.Time, seconds int) []*Job {
	var all []*Job
	for i := range n {
		d := record.Definition{Version: 1,
			Start:   begin.Add((time.Minute / time.Duration(seconds) * time.Duration(i%seconds)).Truncate(time.Second)),
			Overlap: "bufferOne", Behaviour: "ok"}
		if i%3 > 0 {
			d.Retries, d.RetryInterval = 1, retryInterval
		}
		all = append(all, &Job{ID: record.Job{Collection: collectionName(0), Name: fmt.Sprintf("j%05d", i),
			Incarnation: 1}, Definition: d})
	}
	return all
}

type object = client.Object

// definitionBody returns the body of the request that creates a job.
func definitionBody(r *receiver.Receiver, j record.Job, d record.Definition) object {
	p := object{"startTime": d.Start.Format(time.RFC3339), "action": action(r, j, d)}
	switch {
	case d.Rule != nil:
		p["recurrence"] = recurrenceOf(&d)
	case !d.Once:
		recurrence := object{"frequency": "minute", "interval": 1, "overlapPolicy": d.Overlap}
		if d.Count > 0 {
			recurrence["count"] = d.Count
		}
		if d.CatchUp {
			recurrence["catchUpWindow"] = "PT1H"
		}
		p["recurrence"] = recurrence
	}
	if d.Window > 0 {
		p["flexibleWindow"] = seconds(d.Window)
	}
	switch {
	case d.Promises:
		p["notifications"] = []object{{"on": []string{"missed", "late"}, "lateBy": seconds(lateBy), "target": object{
			"type": "Http", "request": object{"method": "POST", "uri": r.AlertURI(j)},
			"retryPolicy": object{"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 2},
		}}}
	case notifies(j):
		p["notifications"] = []object{{"on": []string{"failed", "recovered"}, "target": object{
			"type": "Http", "request": object{"method": "POST", "uri": r.AlertURI(j)},
			"retryPolicy": object{"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 2},
		}}}
	}
	return client.Properties(p)
}

// notifies reports whether a job has notifications of its own: every second one has.
func notifies(j record.Job) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(j.Name))
	return h.Sum32()%2 == 0
}

func action(r *receiver.Receiver, j record.Job, d record.Definition) object {
	get := func(uri string) object { return object{"method": "GET", "uri": uri} }
	a := object{"type": "Http", "request": get(r.URI(j, d.Version, record.MainAction, d.Behaviour)),
		"retryPolicy": object{"retryType": "none"}}
	if d.Retries > 0 {
		a["retryPolicy"] = object{"retryType": "fixed",
			"retryInterval": fmt.Sprintf("PT%dS", int(d.RetryInterval.Seconds())), "retryCount": d.Retries}
	}
	if d.ErrorAction {
		a["errorAction"] = object{"type": "Http", "request": get(r.URI(j, d.Version, record.ErrorAction, "ok"))}
	}
	return a
}
