package resource

import "almanac/job"

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

// NewExecution returns the form of an execution.
func NewExecution(p job.Progress) Execution {
	r := Execution{
		ID: ExecutionID(p.Key, p.Name), Type: "Microsoft.Scheduler/jobCollections/jobs/executions", Name: p.Key.Collection.Name + "/" + p.Key.Name + "/" + p.Name,
		Properties: ExecutionProperties{
			Status: p.Stage, Reason: p.Reason, Outcome: p.Outcome, ExpectedExecutionTime: job.NewTime(p.Due), RepeatCount: p.Repeat,
			ActionName: p.ActionName, ExecutionID: p.ID, Caller: p.Caller, Retry: p.Retry, History: make([]History, len(p.Records)),
		},
	}
	for i, record := range p.Records {
		r.Properties.History[i] = NewHistory(p.Key, record)
	}
	return r
}
