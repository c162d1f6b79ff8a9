package resource

import (
	"fmt"
	"math"
	"time"

	"almanac/access"
	"almanac/job"
	"almanac/job/listing"
)

// A History is an entry of a job's history.
type History struct {
	ID         string            `json:"id"`
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	Properties HistoryProperties `json:"properties"`
}

// HistoryProperties are an attempt, or an occurrence that was dropped.
type HistoryProperties struct {
	StartTime             *job.Time      `json:"startTime,omitempty"`
	EndTime               *job.Time      `json:"endTime,omitempty"`
	ExpectedExecutionTime *job.Time      `json:"expectedExecutionTime,omitempty"`
	Status                job.Outcome    `json:"status"`
	Message               string         `json:"message,omitempty"`
	RetryCount            int            `json:"retryCount"`  // 0 for the first attempt
	RepeatCount           int            `json:"repeatCount"` // from 1; 0 for an occurrence that was dropped
	ActionName            job.ActionName `json:"actionName"`
	Caller                string         `json:"caller,omitempty"` // of a manual run
	PlannedStart          *job.Time      `json:"plannedStart,omitempty"`
	Recovered             bool           `json:"recovered,omitempty"`
	Backfill              string         `json:"backfill,omitempty"`

	// what calendars say of it
	NominalTime   *job.Time         `json:"nominalTime,omitempty"`
	Calendars     []job.CalendarDay `json:"calendars,omitempty"`
	BeyondHorizon []string          `json:"beyondHorizon,omitempty"`
	Blackout      *job.BlackoutUse  `json:"blackout,omitempty"`
}

// History returns the form of an entry of the history of the job k.
func (s Shown) History(k job.Key, r job.Record) History {
	key := historyKey(r)
	var by job.ByCalendars
	if r.By != nil {
		by = *r.By
	}
	return History{
		ID: k.ARMID() + "/history/" + key, Type: typeJob + "/history", Name: jobName(k) + "/" + key,
		Properties: HistoryProperties{
			StartTime:             job.NewTime(r.Start),
			EndTime:               job.NewTime(r.End),
			ExpectedExecutionTime: job.NewTime(r.Due),
			Status:                r.Outcome,
			Message:               s.message(access.ScopeOfJob(k), r.Message),
			RetryCount:            max(r.Number-1, 0),
			RepeatCount:           r.Repeat,
			ActionName:            r.ActionName,
			Caller:                r.Caller,
			PlannedStart:          job.NewTime(r.PlannedStart),
			Recovered:             r.Recovered,
			Backfill:              r.Backfill,
			NominalTime:           job.NewTime(by.Nominal),
			Calendars:             by.Calendars,
			BeyondHorizon:         by.BeyondHorizon,
			Blackout:              by.Blackout,
		},
	}
}

// historyKey returns the name of an entry of a job's history. Names sort newest first. The first half
// counts down, in ticks of 100 ns, from .NET's DateTime.MaxValue to the start of the attempt. The second
// half distinguishes entries that start in the same tick. A name never changes.
func historyKey(r job.Record) string {
	return fmt.Sprintf("%020d:%020d", maxTicks-ticks(r.Start), math.MaxInt64-r.Ordinal())
}

// maxTicks is the last tick of the year 9999, .NET's DateTime.MaxValue.
const maxTicks = 3155378975999999999

// ticks returns t as .NET counts it: in units of 100 ns since the year 1.
func ticks(t time.Time) int64 {
	const perSecond, secondsBefore1970 = 10_000_000, 62135596800
	return (t.Unix()+secondsBefore1970)*perSecond + int64(t.Nanosecond()/100)
}

// HistoryEntry returns an entry of a history across jobs.
func (s Shown) HistoryEntry(r listing.JobRecord) any {
	if r.Unread != "" {
		return unreadEntry(r.Key, r.Unread)
	}
	return s.History(r.Key, r.Record)
}

// An Upcoming is an occurrence of a job that is to come.
type Upcoming struct {
	ID         string             `json:"id"`
	Type       string             `json:"type"`
	Name       string             `json:"name"`
	Properties UpcomingProperties `json:"properties"`
}

// UpcomingProperties are when an occurrence is due.
type UpcomingProperties struct {
	ExpectedExecutionTime *job.Time `json:"expectedExecutionTime"`
}

// UpcomingEntry returns an entry of a list of occurrences.
func UpcomingEntry(o listing.Occurrence) any {
	if o.Unread != "" {
		return unreadEntry(o.Key, o.Unread)
	}
	return Upcoming{
		ID: o.Key.ARMID(), Type: typeJob, Name: jobName(o.Key), Properties: UpcomingProperties{job.NewTime(o.Due)},
	}
}
