package laws

import (
	"cmp"
	"slices"
	"time"
)

// Figures are what a run is summed up in.
type Figures struct {
	Jobs       int
	Requests   int
	Executions int
	Attempts   int // in the histories
	Lateness   []Sample
	Answers    []Sample // how long changes waited for their answer
	Refused    map[string]int
	Downtimes  int // of idle jobs, whose catch-up was checked
}

// A Sample is a distribution of times.
type Sample struct {
	Name          string
	N             int
	P50, P99, Max time.Duration
	Unanswered    int // with status 5xx, or none
	Outage        int // of these, while what answers was down
}

// sample sums up times.
func sample(name string, times []time.Duration) Sample {
	slices.Sort(times)
	s := Sample{Name: name, N: len(times)}
	if s.N > 0 {
		s.P50, s.P99, s.Max = times[s.N/2], times[min(s.N-1, s.N*99/100)], times[s.N-1]
	}
	return s
}

// Samples sums up times by name, in the order of the names.
func Samples(times map[string][]time.Duration) []Sample {
	var all []Sample
	for name, t := range times {
		all = append(all, sample(name, t))
	}
	slices.SortFunc(all, func(a, b Sample) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func figures(l *Log, all []*life) Figures {
	f := Figures{Jobs: len(all), Requests: len(l.Requests), Refused: map[string]int{}}
	late := map[string][]time.Duration{}
	executions := map[string]bool{}
	byJob := map[Job]*life{}
	for _, j := range all {
		byJob[j.Job] = j
		for _, s := range j.sends {
			executions[s.id] = true
			if s.action != Main || !j.occurrence(s.due) || j.busyAt(s.due, s.due) || j.changing(s.due.Add(-10*time.Second), s.first().Arrived) {
				continue
			}
			name := situation(l, s.due.Add(-settling), s.first().Arrived)
			if name != "calm" {
				name += dueWhen(l, s.due)
			}
			late[name] = append(late[name], s.first().Arrived.Sub(s.due))
		}
		if j.read != nil {
			f.Attempts += len(j.read.Entries)
		}
	}
	f.Executions = len(executions)
	f.Lateness = Samples(late)
	f.Answers = answers(l, byJob, f.Refused)
	return f
}

// situation names the last fault that was in force at some time from a to b.
func situation(l *Log, a, b time.Time) string {
	name := "calm"
	for i := range l.Faults {
		if f := &l.Faults[i]; f.overlaps(a, b) {
			name = f.Kind + " of " + generic(f.Target)
		}
	}
	return name
}

// dueWhen says whether an instant lies in a fault, or after it.
func dueWhen(l *Log, due time.Time) string {
	for i := range l.Faults {
		if l.Faults[i].overlaps(due, due) {
			return ": due during it"
		}
	}
	return ": due after it"
}

// generic cuts the number off a process's name.
func generic(name string) string {
	for len(name) > 0 && name[len(name)-1] >= '0' && name[len(name)-1] <= '9' {
		name = name[:len(name)-1]
	}
	return name
}

// answers sums up how long changes waited for their answers, but for those that
// met an outage.
func answers(l *Log, lives map[Job]*life, refused map[string]int) []Sample {
	times, none, out := map[string][]time.Duration{}, map[string]int{}, map[string]int{}
	for i := range l.Changes {
		c := &l.Changes[i]
		if outcome, _ := c.Outcome(); outcome == Refused {
			refused[c.Kind]++
		}
		for _, t := range c.Tries {
			situation, due := held(l, lives[c.Job], t)
			if !due.IsZero() && outage(l, t) == nil {
				name := situation + ", from then on"
				times[name] = append(times[name], max(0, t.Answered.Sub(due)))
			}
			for _, name := range []string{"all " + c.Kind, situation} {
				if outage(l, t) != nil {
					if t.Status == 0 || t.Status >= 500 {
						none[name]++
						out[name]++
					}
					continue // its time says how long the outage was
				}
				times[name] = append(times[name], t.Answered.Sub(t.Issued))
				if t.Status == 0 || t.Status >= 500 {
					none[name]++
				}
			}
		}
	}
	all := Samples(times)
	for i := range all {
		all[i].Unanswered, all[i].Outage = none[all[i].Name], out[all[i].Name]
	}
	return all
}

// A change meets what is due within fenceAhead, or was within takenOver before and had
// not arrived: that may have passed its fence, or be on its way to another worker.
const (
	fenceAhead = 8 * time.Second
	takenOver  = 4 * time.Second
)

// held names the situation in which a change was issued, and returns the due time of
// what it met, if anything.
func held(l *Log, j *life, t Try) (string, time.Time) {
	name := "in calm"
	if s := situation(l, t.Issued.Add(-time.Minute), t.Answered); s != "calm" {
		name = "within a minute of " + s
	}
	if j == nil {
		return name + ": collection", time.Time{}
	}
	for _, s := range j.spans() {
		if !s.active || t.Issued.Before(s.from) || t.Issued.After(s.to) {
			continue
		}
		for _, due := range s.definition.due(t.Issued.Add(-takenOver), t.Issued.Add(time.Minute+time.Second)) {
			switch {
			case due.Sub(t.Issued) > fenceAhead:
				return name + ": due later", time.Time{}
			case !j.sentBefore(due, t.Issued):
				return name + ": due", due
			}
		}
	}
	return name + ": not due", time.Time{}
}

// sentBefore reports whether a request of an occurrence arrived before an instant.
func (j *life) sentBefore(due, at time.Time) bool {
	return slices.ContainsFunc(j.sends, func(s *sends) bool { return s.action == Main && s.due.Equal(due) && s.first().Arrived.Before(at) })
}
