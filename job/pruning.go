package job

import (
	"fmt"
	"time"
)

// PruneAfter is how long a pruned job is kept.
const PruneAfter = 7 * 24 * time.Hour

// A Pruning says that a job is to be deleted, since its owner does not have it any more. Until then it is disabled, and
// whoever changes it keeps it.
type Pruning struct {
	At    time.Time `json:"at"`
	By    string    `json:"by,omitempty"` // in at most 512 bytes; "" if it is not known
	State State     `json:"state"`        // before
	// the pause that it was in, which goes on if the job is taken back; nil: it was in none
	Pause *Disabling `json:"pause,omitempty"`
}

// Until returns when the job deletes itself.
func (p *Pruning) Until() time.Time { return p.At.Truncate(time.Second).Add(PruneAfter) }

// Former returns the state in which the job is taken back: enabled for one that was over, since it may have got
// occurrences.
func (p *Pruning) Former() State {
	if p.State == StateDisabled {
		return StateDisabled
	}
	return StateEnabled
}

// Why returns the reason why a pruned job does not run.
func (p *Pruning) Why() string {
	by := ""
	if p.By != "" {
		by = " by " + p.By
	}
	return fmt.Sprintf("The job was pruned%s at %s, because the files of its owner do not have it any more. "+
		"It deletes itself at %s, unless it is restored or changed before.", by, NewTime(p.At.Truncate(time.Second)), NewTime(p.Until()))
}

// TakenBack returns the job as it was before it was pruned, if it is.
func (j Job) TakenBack() Job {
	if j.Pruning != nil {
		j.Definition.State = j.Pruning.Former()
	}
	return j
}

// An Owner is a directory of job files, as a job collection has it on record.
type Owner struct {
	ID          string   `json:"id"`          // a UUID, in lower case
	Collections []string `json:"collections"` // the names of those that it is about, this one included
}

// A Binding asks to put an owner on record.
type Binding struct {
	Owner
	Rebind bool `json:"rebind,omitempty"` // in place of what is on record, whatever that says
}
