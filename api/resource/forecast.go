package resource

import (
	"time"

	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/listing"
)

// A Forecast says how many occurrences come due in a window.
type Forecast struct {
	From        *job.Time  `json:"from"`
	Until       *job.Time  `json:"until"`
	Complete    bool       `json:"complete"`
	Step        string     `json:"step"`
	Due         int        `json:"due"`
	Steps       []Step     `json:"steps"`
	Fullest     []Second   `json:"fullest"`
	Unspread    *Fullest   `json:"unspread,omitempty"`
	Hosts       []DueCount `json:"hosts"`
	Collections []DueCount `json:"collections"`
	Jobs        int        `json:"jobs"`
	Unread      int        `json:"unread"`
	AsOf        *job.Time  `json:"asOf"`
	Occurrences *[]Second  `json:"occurrences,omitempty"`
	Done        *bool      `json:"done,omitempty"`
}

// A Step is how much is due in a part of the window.
type Step struct {
	Time       *job.Time `json:"time"`
	Due        int       `json:"due"`
	Fullest    Fullest   `json:"fullest"`
	Host       *DueCount `json:"host,omitempty"`
	Collection *DueCount `json:"collection,omitempty"`
}

// A Fullest is the second in which most is due.
type Fullest struct {
	Time *job.Time `json:"time"`
	Due  int       `json:"due"`
}

// A Second is how much is due in a second.
type Second struct {
	Time       *job.Time `json:"time"`
	Due        int       `json:"due"`
	Host       *DueCount `json:"host,omitempty"`
	Collection *DueCount `json:"collection,omitempty"`
}

// A DueCount is how much is due of a host or a collection.
type DueCount struct {
	Name string `json:"name"`
	Due  int    `json:"due"`
}

// NewForecast returns the form of a forecast. done is as in a preview, nil without a definition.
func NewForecast(q listing.ForecastQuery, f listing.Forecast, done *bool) Forecast {
	r := Forecast{
		From: job.NewTime(q.From), Until: job.NewTime(f.Until), Complete: !f.Until.Before(q.Until),
		Step: iso8601.FormatDuration(q.Step), Due: f.Due, Steps: make([]Step, len(f.Steps)),
		Fullest: Seconds(f.Fullest), Hosts: dueCounts(f.Hosts), Collections: dueCounts(f.Collections),
		Jobs: f.Jobs, Unread: f.Unread, AsOf: job.NewTime(f.AsOf), Done: done,
	}
	for i, s := range f.Steps {
		r.Steps[i] = Step{
			Time: job.NewTime(s.Time), Due: s.Due, Fullest: Fullest{job.NewTime(s.FullestTime), s.Fullest},
			Host: most(s.Host), Collection: most(s.Collection),
		}
	}
	if f.Unspread != nil {
		r.Unspread = &Fullest{job.NewTime(f.Unspread.Time), f.Unspread.Due}
	}
	if done != nil {
		r.Occurrences = new(Seconds(f.Times))
	}
	return r
}

// Seconds returns the form of how much is due in some seconds.
func Seconds(counts []listing.DueCount) []Second {
	all := make([]Second, len(counts))
	for i, c := range counts {
		all[i] = Second{job.NewTime(c.Time.UTC().Truncate(time.Second)), c.Due, most(c.Host), most(c.Collection)}
	}
	return all
}

// most returns the form of a count; nil if there is none.
func most(c listing.NamedCount) *DueCount {
	if c.Due == 0 {
		return nil
	}
	return new(DueCount(c))
}

func dueCounts(counts []listing.NamedCount) []DueCount {
	all := make([]DueCount, len(counts))
	for i, c := range counts {
		all[i] = DueCount(c)
	}
	return all
}
