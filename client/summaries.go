package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// A Search says which jobs a list of summaries has, and in which order. The zero value stands for all, by name.
type Search struct {
	Words   string // each has to be in a job's name, collection, schedule in English or host
	Filter  string // conditions, such as "state eq enabled and lastOutcome eq Failed"
	OrderBy string // such as "nextExecutionTime desc"
	Top     int    // jobs on a page; 0 means 100
	Token   string // where a page begins, as [Summaries] has it
}

func (s Search) query() url.Values {
	q := List{Filter: s.Filter, Top: s.Top, Token: s.Token}.query()
	if s.Words != "" {
		q.Set("search", s.Words)
	}
	if s.OrderBy != "" {
		q.Set("$orderby", s.OrderBy)
	}
	return q
}

// A Summary is a job as a list of thousands shows it.
type Summary struct {
	ID         string            `json:"id"`
	Type       string            `json:"type"`
	Name       string            `json:"name"`           // of the job collection and of the job
	ETag       string            `json:"etag,omitempty"` // for [IfMatch] of a change
	Properties SummaryProperties `json:"properties"`
}

// SummaryProperties are what a list shows of a job.
type SummaryProperties struct {
	State              JobState  `json:"state"`
	CollectionDisabled bool      `json:"collectionDisabled,omitempty"` // so nothing runs on the schedule
	When               string    `json:"when"`                         // in English
	ActionType         string    `json:"actionType,omitempty"`
	Host               string    `json:"host,omitempty"`
	PruneAt            time.Time `json:"pruneAt,omitzero"` // when a pruned job deletes itself
	NextExecutionTime  time.Time `json:"nextExecutionTime,omitzero"`
	LastOutcome        Outcome   `json:"lastOutcome,omitempty"`
	Lateness           string    `json:"lateness,omitempty"` // the greatest in Recent; "" if it is less than 5 s
	Disabled           *Disabled `json:"disabled,omitempty"` // nil if it is not, or that is not known
	Retry              *NextTry  `json:"retry,omitempty"`    // that an execution waits for; nil if none does, or it is not known
	Recent             []Mark    `json:"recent"`             // the last 20, oldest first
	LastDay            *Day      `json:"lastDay,omitempty"`
}

// Disabled says by whom and when a job or its job collection was disabled, and until when.
type Disabled struct {
	Time   time.Time `json:"time"`
	Caller string    `json:"caller,omitempty"` // almanac for disableAfter; empty if it is not known

	Note       string    `json:"note,omitempty"`
	Until      time.Time `json:"until,omitzero"` // when it is enabled by itself; zero: never
	Recover    Recover   `json:"recover,omitempty"`
	AtOnce     int       `json:"atOnce,omitempty"`
	Collection bool      `json:"collection,omitempty"` // the job collection is disabled, not the job
}

// A NextTry is the next attempt of an execution that failed so far.
type NextTry struct {
	Attempt         int       `json:"attempt"`
	MaxAttempts     int       `json:"maxAttempts"`
	NextAttemptTime time.Time `json:"nextAttemptTime"`
}

// A Mark is what became of an occurrence or a manual run.
type Mark struct {
	ExpectedExecutionTime time.Time `json:"expectedExecutionTime"`
	Status                Outcome   `json:"status"`
	Manual                bool      `json:"manual,omitempty"`
	Lateness              string    `json:"lateness,omitempty"`
	Assumed               bool      `json:"assumed,omitempty"` // no job recorded it
}

// A Day counts what was out of the ordinary in the last 24 hours.
type Day struct {
	Late       int `json:"late,omitempty"`       // by 5 s or more
	LateMinute int `json:"lateMinute,omitempty"` // those of them that were late by a minute or more
	Failed     int `json:"failed,omitempty"`
	Missed     int `json:"missed,omitempty"`
	Skipped    int `json:"skipped,omitempty"`
	Cancelled  int `json:"cancelled,omitempty"`
	Manual     int `json:"manual,omitempty"`
}

// Summaries are a page of a list of summaries, and what is in the whole list.
type Summaries struct {
	Page[Summary] `json:"-"`

	AsOf     time.Time     `json:"asOf"`
	Total    int           `json:"total"`
	Matching int           `json:"matching"`
	Counts   SummaryCounts `json:"counts"`
}

// SummaryCounts count all jobs of a scope, whatever the search.
type SummaryCounts struct {
	States       map[JobState]int `json:"states"`
	LastOutcomes map[Outcome]int  `json:"lastOutcomes"` // of enabled jobs; "None" for none
	Hosts        []HostJobs       `json:"hosts"`        // the 20 with the most jobs
	NextHour     int              `json:"nextHour"`
	NextDay      int              `json:"nextDay"`
	NoNext       int              `json:"noNext"`
	Unread       int              `json:"unread"`
	LastDay      *Day             `json:"lastDay,omitempty"` // of all jobs; nil if nothing was
	Collections  []CollectionJobs `json:"collections"`       // the 20 with the most jobs
}

// CollectionJobs is what is in a job collection.
type CollectionJobs struct {
	Name              string    `json:"name"` // "resource group/name"
	Jobs              int       `json:"jobs"`
	Failing           int       `json:"failing"` // jobs whose last outcome is that they failed
	NextExecutionTime time.Time `json:"nextExecutionTime,omitzero"`
}

// HostJobs is how many jobs send to a host.
type HostJobs struct {
	Host string `json:"host"`
	Jobs int    `json:"jobs"`
}

// Summaries returns a page of the jobs of a scope, searched and sorted. The next page is that with its Next as Token.
func (c *Client) Summaries(ctx context.Context, of Scope, s Search) (found Summaries, err error) {
	a, err := c.call(ctx, message{method: http.MethodGet, at: c.scoped(of, "summaries"), query: s.query()}, &found)
	if err == nil {
		found.Page, err = pageIn[Summary](a.body)
	}
	return found, err
}
