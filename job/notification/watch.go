package notification

import (
	"fmt"
	"slices"
	"time"

	"almanac/job"
)

// A Rule is a notification without its target: when it applies.
type Rule struct {
	Key    string       `json:"key"` // of its notification, see [Key]
	On     []job.Event  `json:"on"`
	After  int          `json:"after,omitempty"`
	LateBy job.Duration `json:"lateBy,omitempty"`
	Within job.Duration `json:"within,omitempty"`
}

// Key returns what a notification is found by in its list, in which it has the index i: its name, or its number from
// #1.
func Key(n *job.Notification, i int) string {
	if n.Name != "" {
		return n.Name
	}
	return fmt.Sprintf("#%d", i+1)
}

// Rules returns the rules of notifications.
func Rules(list []job.Notification) []Rule {
	var rules []Rule
	for i := range list {
		n := &list[i]
		rules = append(rules, Rule{Key: Key(n, i), On: n.On, After: n.After, LateBy: n.LateBy, Within: n.Within})
	}
	return rules
}

func (r *Rule) on(e job.Event) bool { return slices.Contains(r.On, e) }

// after returns the number of failures in a row that matter.
func (r *Rule) after() int { return max(r.After, 1) }

// On returns the keys of the rules for an event without parameters.
func On(rules []Rule, e job.Event) []string {
	return keys(rules, func(r *Rule) bool { return r.on(e) })
}

func keys(rules []Rule, selects func(*Rule) bool) (found []string) {
	for i := range rules {
		if selects(&rules[i]) {
			found = append(found, rules[i].Key)
		}
	}
	return found
}

// A Watch is what a job has to remember so that each event is raised once. Its methods are called in the order of what
// happens.
type Watch struct {
	Failed []string  `json:"failed,omitempty"` // keys of the rules by which failed was raised since the last success
	Quiet  []string  `json:"quiet,omitempty"`  // keys of the rules by which quiet was raised since the last success
	Since  time.Time `json:"since,omitzero"`   // a job without a later success is silent since then
}

// A Match is an event and the keys of the rules by which it is raised.
type Match struct {
	Event job.Event
	Keys  []string
}

// Ended returns the events of an execution that ended.
func (w *Watch) Ended(rules []Rule, e *job.ExecutionEnd) (matches []Match) {
	add := func(event job.Event, keys []string) {
		if len(keys) > 0 {
			matches = append(matches, Match{event, keys})
		}
	}
	add(job.EventLate, keys(rules, func(r *Rule) bool {
		return !e.Manual && !e.Recovered && r.on(job.EventLate) && e.Late() > r.LateBy.Value()
	}))
	if e.Failed {
		failed := keys(rules, func(r *Rule) bool {
			return r.on(job.EventFailed) && e.FailedBefore+1 >= r.after() && !slices.Contains(w.Failed, r.Key)
		})
		w.Failed = append(w.Failed, failed...)
		add(job.EventFailed, failed)
		return matches
	}
	add(job.EventRecovered, keys(rules, func(r *Rule) bool {
		return r.on(job.EventRecovered) && (e.FailedBefore >= r.after() || slices.Contains(w.Quiet, r.Key))
	}))
	w.Failed, w.Quiet = nil, nil
	return matches
}

// Rest notes that a job is silent from t on at the earliest: it is not due before, or its rules are new.
func (w *Watch) Rest(t time.Time) { w.Since, w.Quiet = t, nil }

// Forget notes that it is not known since when a job is silent.
func (w *Watch) Forget() { w.Rest(time.Time{}) }

// silentAt returns when a job counts as silent by a rule.
func (w *Watch) silentAt(r *Rule, lastSuccess time.Time) time.Time {
	since := w.Since
	if lastSuccess.After(since) {
		since = lastSuccess
	}
	return since.Add(r.Within.Value())
}

func (w *Watch) awaitsQuiet(r *Rule) bool {
	return r.on(job.EventQuiet) && !w.Since.IsZero() && !slices.Contains(w.Quiet, r.Key)
}

// Next returns when the job is silent for so long that a rule applies; zero for never.
func (w *Watch) Next(rules []Rule, lastSuccess time.Time) (next time.Time) {
	for i := range rules {
		r := &rules[i]
		if !w.awaitsQuiet(r) {
			continue
		}
		if at := w.silentAt(r, lastSuccess); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// Silent returns the keys of the rules for which the job is silent now, each once until the next success.
func (w *Watch) Silent(rules []Rule, lastSuccess, now time.Time) []string {
	silent := keys(rules, func(r *Rule) bool { return w.awaitsQuiet(r) && !w.silentAt(r, lastSuccess).After(now) })
	w.Quiet = append(w.Quiet, silent...)
	return silent
}
