// Package workflows says how to address Almanac's workflows: names of types, updates, queries and signals,
// requests, answers and errors. The workflows are in packages of their own:
//
//   - [almanac/workflows/jobloop] is one scheduled job. It plans occurrences, sleeps on a durable timer until
//     the next one, and runs the action as an activity, then the error action if that failed.
//   - [almanac/workflows/registries] holds the registries of names: a job collection has its properties and
//     the names of its jobs, a subscription the names of its collections.
//   - [almanac/workflows/notifier] delivers the alerts of the jobs of a collection.
//   - [almanac/workflows/plan] holds a job's decisions as plain functions without Temporal.
//
// # Versions
//
// The histories in testdata/histories have to replay. Where a change makes a workflow issue other commands
// than a released version did, the one place that differs asks
//
//	workflow.GetVersion(ctx, "name of the change", workflow.DefaultVersion, 1)
//
// and keeps the old branch for DefaultVersion, as long as there are histories of that version. There is no
// other way to guard a version. Nothing is guarded yet, since nothing is released. Answers of the recurrence
// engine need no guard, since they are recorded (see [almanac/workflows/plan.Plan]).
package workflows
