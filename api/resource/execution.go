package resource

import (
	"almanac/access"
	"almanac/job"
)

// An Execution is an execution of a job.
type Execution struct {
	ID         string              `json:"id"`
	Type       string              `json:"type"`
	Name       string              `json:"name"`
	Properties ExecutionProperties `json:"properties"`
}

// ExecutionProperties are how an execution stands.
type ExecutionProperties struct {
	Status                job.Stage      `json:"status"`
	Reason                string         `json:"reason,omitempty"`
	Outcome               job.Outcome    `json:"outcome,omitempty"`
	ExpectedExecutionTime *job.Time      `json:"expectedExecutionTime,omitempty"`
	RepeatCount           int            `json:"repeatCount"`
	ActionName            job.ActionName `json:"actionName,omitempty"`
	ExecutionID           string         `json:"executionId,omitempty"` // what receivers get
	Caller                string         `json:"caller,omitempty"`
	Retry                 *job.Retry     `json:"retry,omitempty"`
	History               []History      `json:"history"` // newest first
}

// ExecutionID returns the id of an execution of a job.
func ExecutionID(k job.Key, name string) string { return k.ARMID() + "/executions/" + name }

// Execution returns the form of an execution.
func (s Shown) Execution(p job.ExecutionStatus) Execution {
	of := access.ScopeOfJob(p.Key)
	r := Execution{
		ID: ExecutionID(p.Key, p.Name), Type: typeJob + "/executions", Name: jobName(p.Key) + "/" + p.Name,
		Properties: ExecutionProperties{
			Status: p.Stage, Reason: s.message(of, p.Reason), Outcome: p.Outcome, ExpectedExecutionTime: job.NewTime(p.Due),
			RepeatCount: p.Repeat, ActionName: p.ActionName, ExecutionID: p.ID, Caller: p.Caller, Retry: s.retry(of, p.Retry),
			History: make([]History, len(p.Records)),
		},
	}
	for i, record := range p.Records {
		r.Properties.History[i] = s.History(p.Key, record)
	}
	return r
}

// A Rerun is the result for one job of a request to run jobs again.
type Rerun struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Properties RerunProperties `json:"properties"`
}

// RerunProperties are what became of a request to run a job again.
type RerunProperties struct {
	Status    job.RerunStatus `json:"status"`
	Execution string          `json:"execution,omitempty"` // its id
	Error     *job.ErrorBody  `json:"error,omitempty"`     // why it was refused
}

// NewRerun returns the form of a result without its error.
func NewRerun(r job.Rerun) Rerun {
	form := Rerun{ID: r.Key.ARMID(), Type: typeJob, Name: jobName(r.Key), Properties: RerunProperties{Status: r.Status}}
	if r.Execution != "" {
		form.Properties.Execution = ExecutionID(r.Key, r.Execution)
	}
	return form
}
