package laws

import (
	"slices"
	"time"

	"almanac/recurrence"
)

// A life is all that is known about one life of a job.
type life struct {
	Job
	changes   []*Change // that may have changed something, its collection's too, by the time they were issued
	runs      []*Change // runs on demand
	requests  []*Request
	sends     []*sends           // the requests, by execution and action
	read      *Read              // the last one
	entries   map[int64][]*Entry // by due time, in seconds
	endOfLoad time.Time
}

// A span is a stretch of time in which a job's definition is certain.
type span struct {
	from, to   time.Time
	active     bool
	definition Definition
	next       *Change // that ends it; nil: the end of the load
}

// sends are the requests of one action of one execution, oldest first.
type sends struct {
	id, action string
	due        time.Time
	requests   []*Request
}

func (s *sends) first() *Request { return s.requests[0] }
func (s *sends) last() *Request  { return s.requests[len(s.requests)-1] }

// lives sorts a log by the lives of jobs.
func lives(l *Log) []*life {
	found := map[Job]*life{}
	var all []*life
	get := func(j Job) *life {
		if found[j] == nil {
			found[j] = &life{Job: j, endOfLoad: l.Run.Quiet, entries: map[int64][]*Entry{}}
			all = append(all, found[j])
		}
		return found[j]
	}
	ofCollection := map[string][]*Change{}
	for i := range l.Changes {
		c := &l.Changes[i]
		outcome, _ := c.Outcome()
		switch {
		case len(c.Tries) == 0 || outcome == Refused:
		case c.Name == "":
			ofCollection[c.Collection] = append(ofCollection[c.Collection], c)
		case c.Kind == RunNow:
			j := get(c.Job)
			j.runs = append(j.runs, c)
		default:
			j := get(c.Job)
			j.changes = append(j.changes, c)
		}
	}
	for _, j := range all {
		j.changes = append(j.changes, ofCollection[j.Collection]...)
		slices.SortStableFunc(j.changes, func(a, b *Change) int { return a.Issued().Compare(b.Issued()) })
	}
	for i := range l.Requests {
		r := &l.Requests[i]
		j := get(r.Job)
		j.requests = append(j.requests, r)
	}
	for i := range l.Reads {
		r := &l.Reads[i]
		j := get(r.Job)
		if j.read == nil || r.Final || !j.read.Final {
			j.read = r
		}
	}
	for _, j := range all {
		j.sort()
	}
	slices.SortFunc(all, func(a, b *life) int {
		return slices.Compare([]string{a.Collection, a.Name, string(rune(a.Life))}, []string{b.Collection, b.Name, string(rune(b.Life))})
	})
	return all
}

func (j *life) sort() {
	slices.SortStableFunc(j.requests, func(a, b *Request) int { return a.Arrived.Compare(b.Arrived) })
	type key struct{ id, action string }
	found := map[key]*sends{}
	for _, r := range j.requests {
		k := key{r.ID, r.Action}
		if found[k] == nil {
			found[k] = &sends{id: r.ID, action: r.Action, due: r.Due}
			j.sends = append(j.sends, found[k])
		}
		found[k].requests = append(found[k].requests, r)
	}
	if j.read != nil {
		for i := range j.read.Entries {
			e := &j.read.Entries[i]
			j.entries[e.Due.Unix()] = append(j.entries[e.Due.Unix()], e)
		}
	}
}

// created returns the change that created this life.
func (j *life) created() *Change {
	for _, c := range j.changes {
		if c.Kind == Create && c.Job == j.Job {
			return c
		}
	}
	return nil
}

// deleted returns the change that ended this life.
func (j *life) deleted() *Change {
	for _, c := range j.changes {
		if c.Kind == Delete && c.Job == j.Job {
			return c
		}
	}
	return nil
}

// definitions returns all definitions that the life ever had.
func (j *life) definitions() []Definition {
	var all []Definition
	for _, c := range j.changes {
		if c.Definition != nil {
			all = append(all, *c.Definition)
		}
	}
	return all
}

// definitionOf returns the newest definition of a version that was asked for by
// an instant.
func (j *life) definitionOf(version int, at time.Time) (Definition, bool) {
	var found Definition
	ok := false
	for _, c := range j.changes {
		if d := c.Definition; d != nil && d.Version == version && (!ok || !c.Issued().After(at)) {
			found, ok = *d, true
		}
	}
	return found, ok
}

// spans returns the stretches in which it is certain when the job is due, oldest
// first. A change of the action ends none: it leaves the plan as it is.
func (j *life) spans() []span {
	var all []span
	var definition Definition
	created, enabled, resting := false, true, false
	var since time.Time // from when on everything is certain; zero: it is not
	for _, c := range j.changes {
		if c.Kind == ChangeAction {
			continue
		}
		if created && !since.IsZero() && c.Issued().After(since) {
			all = append(all, span{since, c.Issued(), enabled && !resting, definition, c})
		}
		outcome, at := j.outcome(c)
		if c.Definition != nil {
			definition = *c.Definition
		}
		switch c.Kind {
		case Create:
			created, enabled = true, true
		case Disable:
			enabled = false
		case Enable:
			enabled = true
		case DisableCollection:
			resting = true
		case EnableCollection:
			resting = false
		case Delete:
			return all
		}
		switch {
		case outcome == Unknown:
			return all // and nothing is certain any more
		case at.After(since):
			since = at
		}
	}
	if created && j.endOfLoad.After(since) {
		all = append(all, span{since, j.endOfLoad, enabled && !resting, definition, nil})
	}
	return all
}

// due returns the due times after from and before to.
func (d *Definition) due(from, to time.Time) []time.Time {
	if d.Once {
		if start := d.Start.Truncate(time.Second); start.After(from) && start.Before(to) {
			return []time.Time{start.UTC()}
		}
		return nil
	}
	schedule, err := recurrence.New(recurrence.Rule{Frequency: recurrence.Minute}, d.Start)
	if err != nil {
		return nil
	}
	var all []time.Time
	for t, ok := schedule.Next(from); ok && t.Before(to) && len(all) < maxDue; t, ok = schedule.Next(t) {
		all = append(all, t)
	}
	return all
}

// spanAt returns the stretch that an instant lies in.
func (j *life) spanAt(t time.Time) (span, bool) {
	for _, s := range j.spans() {
		if !t.Before(s.from) && t.Before(s.to) {
			return s, true
		}
	}
	return span{}, false
}

// maxDue bounds how many due times of a job are looked at: those of a week.
const maxDue = 7 * 24 * 60

// onGrid reports whether a job of that definition is due at an instant.
func (d *Definition) onGrid(t time.Time) bool {
	due := d.due(t.Add(-time.Second), t.Add(time.Second))
	return slices.ContainsFunc(due, t.Equal)
}

// maxRunDelay is how long after a run on demand without an answer its execution
// may still be due.
const maxRunDelay = 10 * time.Minute

// demandedBy returns the runs on demand whose execution may be due at an instant.
func (j *life) demandedBy(due time.Time) []*Change {
	var found []*Change
	for _, c := range j.runs {
		until := c.Issued().Add(maxRunDelay)
		if outcome, at := c.Outcome(); outcome == Applied {
			until = at
		}
		// A run that was answered while the job's workflow was about to be renewed
		// starts right after; its due time is then a second later at most.
		if !due.Before(c.Issued().Truncate(time.Second)) && !due.After(until.Add(time.Second)) {
			found = append(found, c)
		}
	}
	return found
}

// occurrence reports whether an execution due at an instant may be one of the
// recurrence's.
func (j *life) occurrence(due time.Time) bool {
	for _, d := range j.definitions() {
		if d.onGrid(due) {
			return true
		}
	}
	return j.atOnce(due)
}

// atOnce reports whether the execution due at an instant may be that of a job
// that runs once and was created after its start: it is due when it is created.
func (j *life) atOnce(due time.Time) bool {
	created := j.created()
	if created == nil || !created.Definition.Once {
		return false
	}
	outcome, at := created.Outcome()
	return !due.Before(created.Issued().Truncate(time.Second)) && (outcome == Unknown || !due.After(at))
}

// accounted reports whether the receiver or the history knows of an occurrence.
func (j *life) accounted(due time.Time) bool {
	return j.arrival(due) != nil || len(j.entries[due.Unix()]) > 0
}

// arrival returns the first request of an occurrence.
func (j *life) arrival(due time.Time) *Request {
	for _, s := range j.sends {
		if s.action == Main && s.due.Unix() == due.Unix() {
			return s.first()
		}
	}
	return nil
}
