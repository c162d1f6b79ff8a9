package checker

import (
	"slices"
	"time"

	"almanac/lab/record"
)

// Under load the server does everything late: it dispatches what is due, records what came of it and answers changes
// seconds or minutes after it would at other times. How late it was is measured by what arrived at the receiver, of
// jobs that nothing but the server delays.

const (
	// around is how long before and after a time requests are measured that say how late the server was.
	around = time.Minute

	// enough is the least number of requests that say how late the server was.
	enough = 50

	// takeovers is how many lost attempts of an activity the server gives to a worker again.
	takeovers = 3
)

// An arrival is the first request of an execution.
type arrival struct {
	at   time.Time
	late time.Duration
}

// lag returns how late the server was around a time: what nine in ten occurrences were not later than. It is 0 if few
// arrived then.
func (c *checker) lag(at time.Time) time.Duration {
	key := at.Unix() / 10
	if found, ok := c.lags[key]; ok {
		return found
	}
	at = time.Unix(key*10, 0)
	c.lags[key] = c.lagFrom(at.Add(-around), at.Add(around))
	return c.lags[key]
}

// lagFrom is [checker.lag] of what arrived from a to b.
func (c *checker) lagFrom(a, b time.Time) time.Duration {
	if c.arrivals == nil {
		c.arrivals = c.measured()
	}
	from, _ := slices.BinarySearchFunc(c.arrivals, a, func(x arrival, t time.Time) int { return x.at.Compare(t) })
	var late []time.Duration
	for _, x := range c.arrivals[from:] {
		if x.at.After(b) {
			break
		}
		late = append(late, x.late)
	}
	if len(late) < enough {
		return 0
	}
	slices.Sort(late)
	return max(0, late[len(late)*9/10])
}

// measured returns what arrived of jobs whose occurrences wait for nothing but the server, oldest first: not for those
// before them in a catch-up window, nor for the end of a pause.
func (c *checker) measured() []arrival {
	all := []arrival{}
	for _, j := range c.jobs {
		if j.Promising() || j.ByCalendars() || slices.ContainsFunc(j.Definitions(), func(d record.Definition) bool {
			return d.CatchUp
		}) {
			continue
		}
		for _, a := range j.Actions {
			if a.Action == record.MainAction && len(j.ManualRunsDue(a.Due)) == 0 {
				all = append(all, arrival{a.First().Arrived, a.First().Arrived.Sub(a.Due)})
			}
		}
	}
	slices.SortFunc(all, func(a, b arrival) int { return a.at.Compare(b.at) })
	return all
}

// overloaded reports whether one in a hundred of the occurrences due from two minutes before a until b, of those jobs,
// arrived later than lateness: more was due than could be sent.
func (c *checker) overloaded(a, b time.Time) bool {
	if c.arrivals == nil {
		c.arrivals = c.measured()
	}
	all, late := 0, 0
	for _, x := range c.arrivals {
		if due := x.at.Add(-x.late); !due.After(b) && a.Sub(due) <= 2*time.Minute {
			all++
			if x.late > lateness {
				late++
			}
		}
	}
	return all >= enough && late*100 >= all
}

// doneBy returns when everything is over, and recorded, that waited for the server at a time: after its lateness then,
// and after the consequences of all faults that came before.
func (c *checker) doneBy(t time.Time) time.Time { return c.settled(t, lateness) }

// settled is [checker.doneBy], given what something takes while the server is not late.
func (c *checker) settled(t time.Time, takes time.Duration) time.Time {
	until := t.Add(takes + c.lag(t))
	for i := range c.log.Faults { // in the order of their starts
		if f := &c.log.Faults[i]; f.Overlaps(t.Add(-settling), until) {
			until = later(until, f.End.Add(settling+c.lag(f.End)))
		}
	}
	return until
}

// readBefore reports whether what came of a request may have been recorded after the last read of its job's history.
func (c *checker) readBefore(j *record.JobLog, r *record.Request) bool {
	return !j.Read.Final && c.doneBy(r.End()).After(j.Read.Issued)
}

// lostOutcome returns a fault that explains why the outcome of a request that was answered was not known at a time,
// when the history counts it as lost; nil if there is none.
func (c *checker) lostOutcome(j *record.JobLog, r *record.Request, lost time.Time) *record.Fault {
	if f := c.lostBefore(r, lost); f != nil {
		return f
	}
	if c.log.Run.Form != formOne || !j.Changing(r.Arrived, lost) {
		return nil
	}
	// An attempt that was cancelled by a change has no other one after it, which would find the outcome in the journal.
	return c.lastLoss(r.Arrived.Add(-clockSlack), lost)
}

// lastLoss returns the last fault from a to b that may lose what a worker knows, or what the server was told.
func (c *checker) lastLoss(a, b time.Time) *record.Fault {
	for i := range slices.Backward(c.log.Faults) {
		if f := &c.log.Faults[i]; f.Overlaps(a, b) && f.Stopped(record.Worker, record.AllWorkers, record.Server) {
			return f
		}
	}
	return nil
}

// lostBefore is [checker.lostOutcome] of a request that another attempt follows. A single process keeps outcomes in a
// journal, and finds them there after it was killed, unless it was killed again so often that no attempt was left.
func (c *checker) lostBefore(r *record.Request, lost time.Time) *record.Fault {
	begin := r.Arrived.Add(-clockSlack)
	late := earlier(lost, r.End().Add(recording+2*c.lag(r.End())))
	until := later(r.End().Add(c.recording()), late)
	if c.log.Run.Form != formOne {
		return c.lastLoss(begin, until)
	}
	if f := c.lastLoss(begin, r.End().Add(journalTime)); f != nil {
		return f
	}
	var found []*record.Fault
	for i := range c.log.Faults {
		f := &c.log.Faults[i]
		if f.Kind == record.FaultDisk && f.Overlaps(begin, until) {
			return f // it takes the journal's space as well
		}
		if f.Stopped(record.Worker) && f.Overlaps(begin, lost) {
			found = append(found, f)
		}
	}
	if len(found) < takeovers {
		return nil
	}
	return found[len(found)-1]
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
