// Package job has the types of jobs, collections, actions and executions. Package job/input makes them from
// what users write, and package job/timetable computes when they run.
//
// The JSON of [Definition] and [CollectionProperties], including the order of members, is both the wire
// form and the form stored in workflows. The tags of their fields, which package internal/fields explains, say
// what a member takes.
package job
