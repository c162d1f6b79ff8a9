package faults

import (
	"maps"
	"slices"
	"time"

	"almanac/lab/record"
	"almanac/lab/report"
)

// figures summarize a run.
type figures struct {
	jobs       int // incarnations of jobs
	executions int
	entries    int      // of the histories
	lateness   []sample // of occurrences that nothing but a fault delayed
	answers    []sample // of the times until changes were answered
}

// A sample is a distribution of times.
type sample struct {
	report.Spread
	name       string
	unanswered int // answered with status 5xx, or not at all
	outage     int // of these, in an outage
}

// samples summarizes times by name, in the order of the names.
func samples(times map[string][]time.Duration) []sample {
	var all []sample
	for _, name := range slices.Sorted(maps.Keys(times)) {
		all = append(all, sample{name: name, Spread: report.SpreadOf(times[name])})
	}
	return all
}

// summarize computes the figures of a run.
func summarize(l *record.Log) figures {
	jobs := l.Jobs()
	f := figures{jobs: len(jobs), lateness: lateness(l, jobs), answers: answers(l, jobs)}
	executions := map[string]bool{}
	for _, j := range jobs {
		for _, a := range j.Actions {
			executions[a.ID] = true
		}
		if j.Read != nil {
			f.entries += len(j.Read.Entries)
		}
	}
	f.executions = len(executions)
	return f
}

// lateness summarizes how late occurrences were sent that waited for no other execution and met no change.
func lateness(l *record.Log, jobs []*record.JobLog) []sample {
	late := map[string][]time.Duration{}
	for _, j := range jobs {
		for _, a := range j.Actions {
			arrived := a.First().Arrived
			if a.Action != record.MainAction || !j.IsOccurrence(a.Due) || j.Overlapped(a.Due, a.Due, a.Due) ||
				j.Changing(a.Due.Add(-10*time.Second), arrived) {
				continue
			}
			name := "calm"
			if f := l.LastFault(a.Due.Add(-record.Settling), arrived); f != nil {
				name = f.Class() + ": due after it"
				if l.LastFault(a.Due, a.Due) != nil {
					name = f.Class() + ": due during it"
				}
			}
			late[name] = append(late[name], arrived.Sub(a.Due))
		}
	}
	return samples(late)
}

// answers summarizes how long changes waited for their answers, except in an outage.
func answers(l *record.Log, jobs []*record.JobLog) []sample {
	byJob := map[record.Job]*record.JobLog{}
	for _, j := range jobs {
		byJob[j.Job] = j
	}
	times, unanswered, outage := map[string][]time.Duration{}, map[string]int{}, map[string]int{}
	for i := range l.Changes {
		c := &l.Changes[i]
		for _, t := range c.Tries {
			calm := l.Outage(t) == nil
			situation, due := situationOf(l, byJob[c.Job], t)
			if !due.IsZero() && calm {
				name := situation + ", from then on"
				times[name] = append(times[name], max(0, t.Answered.Sub(due)))
			}
			for _, name := range []string{"all " + c.Kind, situation} {
				if calm {
					times[name] = append(times[name], t.Answered.Sub(t.Issued))
				}
				if t.Unanswered() {
					unanswered[name]++
				}
				if t.Unanswered() && !calm {
					outage[name]++
				}
			}
		}
	}
	all := samples(times)
	for i := range all {
		all[i].unanswered, all[i].outage = unanswered[all[i].name], outage[all[i].name]
	}
	return all
}

// A change meets an occurrence that is due within fenceAhead, or that was due within takeOver before and has
// not arrived: it may have passed its fence, or another worker may be taking it over.
const (
	fenceAhead = 8 * time.Second
	takeOver   = 4 * time.Second
)

// situationOf names the situation in which a change was issued. It returns the due time of the occurrence
// that the change met, zero if there was none. j is nil for a change of a collection.
func situationOf(l *record.Log, j *record.JobLog, t record.Try) (string, time.Time) {
	name := "in calm"
	if f := l.LastFault(t.Issued.Add(-time.Minute), t.Answered); f != nil {
		name = "within a minute of " + f.Class()
	}
	if j == nil {
		return name + ": collection", time.Time{}
	}
	for _, s := range j.Spans() {
		if !s.Active || t.Issued.Before(s.From) || t.Issued.After(s.To) {
			continue
		}
		for _, due := range s.Definition.Due(t.Issued.Add(-takeOver), t.Issued.Add(time.Minute+time.Second)) {
			switch {
			case due.Sub(t.Issued) > fenceAhead:
				return name + ": due later", time.Time{}
			case j.Arrival(due) == nil || !j.Arrival(due).Arrived.Before(t.Issued):
				return name + ": due", due
			}
		}
	}
	return name + ": not due", time.Time{}
}
