// Package workflows holds Almanac's workflows:
//
//   - [Job] is one scheduled job. It plans occurrences, sleeps on a durable timer until the next
//     one, and runs the action as an activity, then the error action if that failed.
//   - [Collection] is one job collection: its properties and the registry of its jobs' names.
//   - [Subscription] is the registry of a subscription's collections.
//
// Decisions are plain functions without Temporal, in policy.go and plan.go. Answers of the recurrence
// engine are recorded in the history (see [Planned]), so a new version of the engine or of the time
// zone database changes no planned occurrence and breaks no replay.
package workflows
