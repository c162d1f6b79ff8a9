package resource

import (
	"almanac/access"
	"almanac/job"
)

// A Trial is what became of an action that was sent once, without being saved.
type Trial struct {
	Status      job.Outcome `json:"status"`
	StartTime   *job.Time   `json:"startTime"`
	EndTime     *job.Time   `json:"endTime"`
	Message     string      `json:"message"`
	Reason      string      `json:"reason,omitempty"` // why it failed, in one sentence
	ExecutionID string      `json:"executionId"`
}

// Trial returns the form of a trial.
func (s Shown) Trial(t job.Trial) Trial {
	of := access.ScopeOfJob(t.Key)
	a := &t.Attempt
	return Trial{
		Status: a.Outcome, StartTime: job.NewTime(a.Start), EndTime: job.NewTime(a.End),
		Message: s.message(of, a.Message), Reason: s.message(of, a.Reason), ExecutionID: t.ID,
	}
}
