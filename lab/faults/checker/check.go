// Package checker checks the record of a run against the laws, which say what Almanac promises.
//
// It trusts the log of the receiver, of the changes with their answers, and of the faults. Almanac's own
// history and counters are checked against these. The package reads no clock and no network, so that the
// record of an earlier run can be checked again, and a record that was made up can test the checker.
package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"almanac/lab/record"
)

// The laws. docs/faults.md lists them by these names.
const (
	NoLoss     = "1 no loss"
	OneID      = "2 one decision"
	Duplicates = "3 duplicates"
	Early      = "4 never early"
	Retries    = "5 retries"
	Counts     = "6 counts"
	Disabled   = "7 disable"
	Updated    = "8 update"
	Deleted    = "9 delete"
	Reads      = "10 reads"
	Replays    = "13 determinism"
	Late       = "15 late"
	CatchUp    = "catch-up"
	CutOff     = "cut off"
	OneEntry   = "17 one entry"
	Pauses     = "pause"
	Skips      = "skip"
	Backfills  = "backfill"
	Windows    = "flexible window"
	Quotas     = "11 quotas"
	Overlaps   = "overlap"
	Calendars  = "calendar"
	Entries    = "calendar entry"
	InUse      = "calendar in use"
	Unanswered = "unanswered"
)

// Laws are all laws, in the order of the report.
var Laws = []string{NoLoss, OneID, Duplicates, Early, Retries, Counts, Disabled, Updated, Deleted, Reads, Quotas, Replays,
	Late, OneEntry, Overlaps, Pauses, Skips, Backfills, Windows, Calendars, Entries, InUse, CatchUp, CutOff, Unanswered}

// A Violation is a violation of a law, or something that looks like one and is excused.
type Violation struct {
	Law  string
	Job  record.Job
	At   time.Time
	Text string
	By   string // what excuses it: the class of a fault, or the tolerance; empty: nothing
}

// A Verdict is the result of a check. Violations are ordered by law and time.
type Verdict struct {
	Violations []Violation
	Excused    []Violation // explained by a fault, or by a request that was in flight
	Downtimes  int         // number of downtimes of idle jobs whose catch-up was checked
}

type checker struct {
	log     *record.Log
	jobs    []*record.JobLog
	verdict Verdict
	dues    map[int64]int // number of requests by due time in Unix seconds; nil: not counted yet

	arrivals []arrival               // that say how late the server was, oldest first; nil: not measured yet
	lags     map[int64]time.Duration // what [checker.lag] returned, by tens of seconds
}

// Check checks a log against all laws.
func Check(l *record.Log) *Verdict {
	c := &checker{log: l, jobs: l.Jobs(), lags: map[int64]time.Duration{}}
	for _, j := range c.jobs {
		switch {
		case j.ByCalendars():
			c.checkCalendars(j)
		case j.Promising():
			c.checkPromises(j)
			c.checkOneEntry(j)
		default:
			c.checkOccurrences(j)
			c.checkDropped(j)
			c.checkCatchUp(j)
			c.checkOneEntry(j)
		}
		c.checkOverlap(j)
		c.checkManualRuns(j)
		c.checkNeverArrived(j)
		c.checkIDs(j)
		c.checkEarly(j)
		c.checkLate(j)
		c.checkAttempts(j)
		c.checkErrorActions(j)
		c.checkCut(j)
		c.checkChanges(j)
		c.checkHistory(j)
		c.checkRead(j)
		c.checkCreated(j)
	}
	c.checkQuotas()
	c.checkVersions()
	c.checkAlerts()
	c.checkSharedIDs()
	c.checkLists()
	c.checkAnswers()
	for _, r := range l.Replays {
		c.violation(Replays, record.Job{Name: r.WorkflowID}, time.Time{}, "run %s does not replay: %s", r.RunID,
			r.Error)
	}
	order := func(a, b Violation) int {
		return cmp.Or(cmp.Compare(slices.Index(Laws, a.Law), slices.Index(Laws, b.Law)), a.At.Compare(b.At))
	}
	slices.SortStableFunc(c.verdict.Violations, order)
	slices.SortStableFunc(c.verdict.Excused, order)
	return &c.verdict
}

func (c *checker) violation(law string, j record.Job, at time.Time, format string, args ...any) {
	c.verdict.Violations = append(c.verdict.Violations, Violation{law, j, at, fmt.Sprintf(format, args...), ""})
}

// excused adds what a fault explains, or if that is nil, the tolerance.
func (c *checker) excused(law string, j record.Job, at time.Time, f *record.Fault, format string, args ...any) {
	by := "tolerance"
	if f != nil {
		by = f.Class()
		format += ": %s"
		args = append(args, f)
	}
	c.verdict.Excused = append(c.verdict.Excused, Violation{law, j, at, fmt.Sprintf(format, args...), by})
}

// formOne is the form of a single process that has everything.
const formOne = "one"

const (
	// recording and recordingEach are the maximum time between the answer to an attempt and the record of its outcome
	// in the server, and what each job of a herd adds. A fault in that time may lose the outcome.
	recording     = 10 * time.Second
	recordingEach = 25 * time.Millisecond

	// journalTime is the maximum time between the answer to an attempt and its line in the journal, if there is one.
	journalTime = time.Second

	// fenceAhead is the maximum time before its due time at which an attempt is recorded as sent, and fenceEach what
	// each job of a herd adds, up to fenceMost. If its worker is lost then, no request arrives.
	fenceAhead = 7 * time.Second
	fenceEach  = 8 * time.Millisecond
	fenceMost  = 31 * time.Second

	// settling is how long after a fault its consequences may show.
	settling = record.Settling

	// lateness is the maximum lateness of an occurrence without a fault. A later one counts as lost.
	lateness = 20 * time.Second

	// attemptTime is the time limit of an attempt: a minute, less some time for clocks and queues.
	attemptTime = 58 * time.Second

	// clockSlack is the maximum error of the times in the log.
	clockSlack = 50 * time.Millisecond
)

// recording returns the maximum time between the answer to an attempt and the record of its outcome.
func (c *checker) recording() time.Duration {
	return recording + time.Duration(c.log.Run.Herd)*recordingEach
}

// fenceAhead returns the maximum time before its due time at which an attempt is recorded as sent.
func (c *checker) fenceAhead() time.Duration {
	return min(fenceAhead+time.Duration(c.log.Run.Herd)*fenceEach, fenceMost)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
