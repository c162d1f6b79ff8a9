package resource

import (
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/preview"
)

// A Diff is what a change does to the next runs of a job.
type Diff struct {
	Runs    []Run     `json:"runs"`
	Same    int       `json:"same"`
	Moves   int       `json:"moves"`
	New     int       `json:"new"`
	Goes    int       `json:"goes"`
	Next    *job.Time `json:"nextExecutionTime,omitempty"`
	Done    bool      `json:"done"`
	WasText string    `json:"wasText,omitempty"`
	Text    string    `json:"text,omitempty"`
	AsOf    *job.Time `json:"asOf,omitempty"`

	Adjustments []preview.Adjusted `json:"adjustments,omitempty"`
}

// A Run is a run before and after a change.
type Run struct {
	Change preview.Fate `json:"change"`
	Was    *job.Time    `json:"was,omitempty"`
	WillBe *job.Time    `json:"willBe,omitempty"`
	Others *int         `json:"others,omitempty"`
	Host   *DueCount    `json:"host,omitempty"`
}

// NewDiff returns the form of a diff. others are how many others are due with the runs that will be, in their order.
func NewDiff(d preview.Diff, others listing.Forecast) Diff {
	r := Diff{
		Runs: make([]Run, len(d.Runs)), Next: job.NewTime(d.Next), Done: d.Done, WasText: d.Was, Text: d.Text,
		AsOf: job.NewTime(others.AsOf),
	}
	counts := map[preview.Fate]*int{
		preview.Stays: &r.Same, preview.Moves: &r.Moves, preview.IsNew: &r.New, preview.Goes: &r.Goes,
	}
	for i := range d.Adjustments {
		r.Adjustments = append(r.Adjustments, d.Adjustments[i].Answer())
	}
	left := others.Times
	for i, run := range d.Runs {
		*counts[run.Fate]++
		r.Runs[i] = Run{Change: run.Fate, Was: job.NewTime(run.Was), WillBe: job.NewTime(run.WillBe)}
		if !run.WillBe.IsZero() && len(left) > 0 {
			r.Runs[i].Others, r.Runs[i].Host = new(left[0].Due), most(left[0].Host)
			left = left[1:]
		}
	}
	return r
}
