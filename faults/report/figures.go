package report

import (
	"cmp"
	"slices"
	"time"

	"almanac/faults/record"
)

// Figures summarize a run.
type Figures struct {
	Jobs       int // incarnations of jobs
	Executions int
	Entries    int      // of the histories
	Lateness   []Sample // of occurrences that nothing but a fault delayed
	Answers    []Sample // of the times until changes were answered
}

// A Sample is a distribution of times.
type Sample struct {
	Name          string
	N             int
	P50, P99, Max time.Duration
	Unanswered    int // answered with status 5xx, or not at all
	Outage        int // of these, in an outage
}

// Samples summarizes times by name, in the order of the names.
func Samples(times map[string][]time.Duration) []Sample {
	var all []Sample
	for name, t := range times {
		slices.Sort(t)
		s := Sample{Name: name, N: len(t)}
		if s.N > 0 {
			s.P50, s.P99, s.Max = t[s.N/2], t[min(s.N-1, s.N*99/100)], t[s.N-1]
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sample) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Summarize computes the figures of a run.
func Summarize(l *record.Log) Figures {
	jobs := l.Jobs()
	f := Figures{Jobs: len(jobs), Lateness: lateness(l, jobs), Answers: answers(l, jobs)}
	executions := map[string]bool{}
	for _, j := range jobs {
		for _, a := range j.Actions {
			executions[a.ID] = true
		}
		if j.Read != nil {
			f.Entries += len(j.Read.Entries)
		}
	}
	f.Executions = len(executions)
	return f
}

// lateness summarizes how late occurrences were sent that waited for no other execution and met no change.
func lateness(l *record.Log, jobs []*record.JobLog) []Sample {
	late := map[string][]time.Duration{}
	for _, j := range jobs {
		for _, a := range j.Actions {
			arrived := a.First().Arrived
			if a.Action != record.MainAction || !j.IsOccurrence(a.Due) || j.Overlapped(a.Due, a.Due) || j.Changing(a.Due.Add(-10*time.Second), arrived) {
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
	return Samples(late)
}

// answers summarizes how long changes waited for their answers, except in an outage.
func answers(l *record.Log, jobs []*record.JobLog) []Sample {
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
	all := Samples(times)
	for i := range all {
		all[i].Unanswered, all[i].Outage = unanswered[all[i].Name], outage[all[i].Name]
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
