package job

import "time"

// A BulkAction is what is done to many jobs of a collection.
type BulkAction string

// The bulk actions.
const (
	BulkEnable  BulkAction = "enable"
	BulkDisable BulkAction = "disable"
	BulkRun     BulkAction = "run"
	BulkSkip    BulkAction = "skip" // the next occurrence
	BulkRerun   BulkAction = "rerun"
	BulkDelete  BulkAction = "delete"
)

// BulkActions are all bulk actions.
var BulkActions = []BulkAction{BulkEnable, BulkDisable, BulkRun, BulkSkip, BulkRerun, BulkDelete}

// MaxBulk is how many jobs a bulk action has at most.
const MaxBulk = 1000

// A BulkJob is a job as it was when somebody selected it.
type BulkJob struct {
	Name       string
	Generation int
	Due        time.Time // of the occurrence to skip; zero for none
	Promise    *Promise  `json:",omitempty"` // of enabling and disabling; nil: none
}

// A BulkStatus says what became of a job of a bulk action.
type BulkStatus string

// What became of a job of a bulk action.
const (
	BulkDone         BulkStatus = "Done"
	BulkUnchanged    BulkStatus = "Unchanged"    // it was so already, or nothing was to be done
	BulkChangedSince BulkStatus = "ChangedSince" // it was changed since it was selected, so nothing was done
	BulkMissing      BulkStatus = "Missing"      // there is no such job any more
	BulkRefused      BulkStatus = "Refused"      // see BulkResult.Err
)

// A BulkResult is the result for one job of a bulk action.
type BulkResult struct {
	Key       Key
	Status    BulkStatus
	Execution string // the manual run that was started: see [ExecutionName]
	Err       error
}
