package job

import (
	"context"
	"errors"
	"time"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/source"
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

// SendDraft sends what an editor has written of a job.
func SendDraft(ctx context.Context, s *base.Session, was client.Job, file string) error {
	now, err := writable(was)
	if err != nil {
		return err
	}
	d := &draft{edited: edited{name: base.Name{Collection: "default", Job: "hello"}, was: was}, now: now, file: file, kept: true}
	if d.text, err = source.Read(file, nil); err != nil {
		return err
	}
	return errors.Join(d.compare(), d.send(ctx, s, false))
}
