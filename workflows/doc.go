// Package workflows holds Almanac's workflows.
//
// [Job] is one scheduled job for as long as it exists: it sleeps on a durable timer until
// the next occurrence is due, runs the action as an activity, runs the error action if
// that failed, and plans on. [Collection] is one job collection: its properties and the
// registry of its jobs' names. [Subscription] is the registry of a subscription's collections.
//
// What to do when is decided by plain functions in policy.go and plan.go that know nothing
// of Temporal. The answer of the recurrence engine is recorded in the history (see
// [Planned]), so that a later version of the engine, or of the time zone database, changes
// no occurrence that is already planned and cannot break a replay.
package workflows
