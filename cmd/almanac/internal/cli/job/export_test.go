package job

import (
	"context"
	"time"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
)

// RunEditor has an editor change a file.
var RunEditor = runEditor

// NewFollower returns what finds the entries that are new in a list.
func NewFollower() func(l client.List, first bool, read Reading) ([]client.History, error) {
	return new(follower).news
}

// Wait waits for executions of a job one after the other, and returns their outcomes, statuses and errors.
func Wait(ctx context.Context, s *base.Session, within, patience time.Duration, executions ...string) (said []string) {
	w := waiter{s: s, within: within, patience: patience}
	for _, x := range executions {
		r := w.ended(ctx, result{Name: "default/hello", Status: statusDone, Execution: x})
		said = append(said, r.Status+" "+r.Outcome+" "+r.Error)
	}
	return said
}
