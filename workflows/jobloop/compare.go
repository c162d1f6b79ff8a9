package jobloop

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/input"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// The limits of comparisons of a job's secrets, so that nobody finds one by guessing.
const (
	maxCompares   = 60 // within compareWindow
	compareWindow = time.Hour
)

// handleCompare says whether the secrets of a definition are those that are stored, and nothing else of them.
func (j *loop) handleCompare(ctx workflow.Context, r workflows.CompareRequest) (same bool, err error) {
	_, err = j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
		if err := j.mayCompare(ctx, r); err != nil {
			return err
		}
		now := workflow.Now(ctx)
		if !now.Before(j.Compared.Since.Add(compareWindow)) {
			j.Compared = state.Compares{Since: now.UTC()}
		}
		j.Compared.Count++
		same = sameSecrets(&r.Definition, &j.Definition)
		return nil
	}))
	return same, err
}

// mayCompare refuses comparisons that are too many, before they are in the history.
func (j *loop) mayCompare(ctx workflow.Context, _ workflows.CompareRequest) error {
	wait := j.Compared.Since.Add(compareWindow).Sub(workflow.Now(ctx))
	if j.Compared.Count >= maxCompares && wait > 0 {
		return workflows.RefuseFor(wait, fmt.Sprintf(
			"Nothing was compared: within an hour the secrets of a job are compared %d times at most.", maxCompares))
	}
	return j.mayChange()
}

// sameSecrets reports whether the secrets that a definition has are those of the stored one. How long it takes says
// nothing of where they differ.
func sameSecrets(given, stored *job.Definition) bool {
	kept, errKept := input.KeepSecrets(given.Redacted(), stored, false)
	full, errFull := input.KeepSecrets(*given, stored, false)
	a, b := sumOf(&kept), sumOf(&full)
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && errKept == nil && errFull == nil
}

func sumOf(d *job.Definition) [sha256.Size]byte {
	text, _ := json.Marshal(d) //workflowcheck:ignore // it always writes the same definition alike, and has no error
	return sha256.Sum256(text)
}
