// Package workflows says how to address Almanac's workflows: their types, ids of updates, queries and
// signals, requests, answers and errors. The workflows themselves are in packages of their own:
//
//   - [almanac/workflows/jobloop] is one scheduled job. It plans occurrences, sleeps on a durable timer until
//     the next one, and runs the action as an activity, then the error action if that failed.
//   - [almanac/workflows/registries] holds the registries of names: a job collection has its properties and
//     the names of its jobs, a subscription the names of its collections.
//   - [almanac/workflows/plan] holds a job's decisions as plain functions without Temporal.
//
// # Versions
//
// The histories in testdata/histories have to replay. A change that makes a workflow of a released version
// issue other commands is guarded, at the one place that differs, by
//
//	workflow.GetVersion(ctx, "what the change does", workflow.DefaultVersion, 1)
//
// and the old branch stays for as long as such a workflow may run: a job runs its current history for at
// most 100 executions, and a retired branch is deleted with the histories of the releases that need it. No
// change is guarded yet, since nothing is released. What an answer of the recurrence engine changes needs no
// guard, since the answer is recorded (see [almanac/workflows/plan.Plan]).
package workflows
