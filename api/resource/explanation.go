package resource

import (
	"almanac/access"
	"almanac/job"
	"almanac/job/explain"
)

// An Explanation says why an occurrence of a job ran late or not at all, or whether one to come will run.
type Explanation struct {
	ID         string                `json:"id"`
	Type       string                `json:"type"`
	Name       string                `json:"name"`
	Properties ExplanationProperties `json:"properties"`
}

// ExplanationProperties are the answer and the facts from which it follows.
type ExplanationProperties struct {
	Time     *job.Time       `json:"time"`
	Outcome  explain.Outcome `json:"outcome"`
	Cause    explain.Cause   `json:"cause"`
	Sentence string          `json:"sentence"`

	PreviousExecutionTime *job.Time `json:"previousExecutionTime,omitempty"`
	NextExecutionTime     *job.Time `json:"nextExecutionTime,omitempty"`
	Execution             string    `json:"execution,omitempty"`      // its id
	OtherExecution        string    `json:"otherExecution,omitempty"` // likewise

	Split   *Split   `json:"split,omitempty"`
	Facts   []Fact   `json:"facts"`
	Hazards []string `json:"hazards,omitempty"`
	Unread  []string `json:"unread,omitempty"`
}

// A Split is what an execution waited for, in seconds.
type Split struct {
	Lateness        float64 `json:"lateness"` // the sum of the next three
	Worker          float64 `json:"worker"`
	Server          float64 `json:"server"`
	Place           float64 `json:"place"`
	Send            float64 `json:"send"`
	EarlierAttempts float64 `json:"earlierAttempts"`
}

// A Fact is what is recorded, and where.
type Fact struct {
	Time   *job.Time      `json:"time,omitempty"`
	Text   string         `json:"text"`
	Source explain.Source `json:"source"`
	ID     string         `json:"id,omitempty"` // of the entry, the change or the execution
}

// Explanation returns the form of an answer about the job k.
func (s Shown) Explanation(k job.Key, a *explain.Answer) Explanation {
	of := access.ScopeOfJob(k)
	name := job.Time{Time: a.At}.String()
	p := ExplanationProperties{
		Time: job.NewTime(a.At), Outcome: a.Outcome, Cause: a.Cause, Sentence: s.message(of, a.Sentence),
		PreviousExecutionTime: job.NewTime(a.Before), NextExecutionTime: job.NewTime(a.After),
		Execution: executionID(k, a.Execution), OtherExecution: executionID(k, a.Other),
		Split: newSplit(a), Facts: []Fact{}, Hazards: a.Hazards, Unread: a.Unread,
	}
	for i := range a.Facts {
		f := &a.Facts[i]
		p.Facts = append(p.Facts, Fact{Time: job.NewTime(f.Time), Text: s.message(of, f.Text), Source: f.Source, ID: factID(k, f)})
	}
	return Explanation{ID: k.ARMID() + "/explain/" + name, Type: typeJob + "/explain", Name: jobName(k) + "/" + name, Properties: p}
}

func newSplit(a *explain.Answer) *Split {
	if a.Split == nil {
		return nil
	}
	return splitOf(a.Lateness, a.Split, a.Earlier)
}

func executionID(k job.Key, name string) string {
	if name == "" {
		return ""
	}
	return ExecutionID(k, name)
}

// factID returns the id of what a fact is recorded in; "" if that has none.
func factID(k job.Key, f *explain.Fact) string {
	switch {
	case f.Entry != nil:
		return k.ARMID() + "/history/" + historyKey(*f.Entry)
	case f.Change != "" && f.Source == explain.FromCollection:
		return NewCollection(job.Collection{Key: k.Collection}).ID + "/changes/" + f.Change
	case f.Change != "":
		return k.ARMID() + "/changes/" + f.Change
	}
	return executionID(k, f.Name)
}
