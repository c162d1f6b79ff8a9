package job

// A RerunStatus says what a request to run a job again did.
type RerunStatus string

// What a request to run a job again did.
const (
	RerunStarted RerunStatus = "Started"
	// a manual run of the job runs or waits already, or the same request was made before.
	RerunUnderWay  RerunStatus = "UnderWay"
	RerunNotFailed RerunStatus = "NotFailed" // the execution that ended last succeeded, or none has ended
	RerunRefused   RerunStatus = "Refused"   // see Rerun.Err
)

// A RerunAnswer is the answer of a job's workflow to a request to run it again.
type RerunAnswer struct {
	Status    RerunStatus `json:"status"`
	Execution string      `json:"execution,omitempty"` // as in [Rerun]
}

// A Rerun is the result for one job of a request to run jobs again.
type Rerun struct {
	Key       Key
	Status    RerunStatus
	Execution string // name of the manual run that was started, or that runs or waits already; see [ExecutionName]
	Err       error  // why a job was refused; the job may or may not have been started if it is of [KindUnavailable]
}
