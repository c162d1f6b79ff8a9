// Package job defines jobs, collections, actions and executions, with their JSON and its validation.
//
// [ParseDefinition], [MergeDefinition], [ParseCollection] and [MergeCollection] parse the JSON of the Azure
// Scheduler REST API. Their errors list every bad field with its path. Their results are valid, and the
// other packages rely on that. [ParsePreview] parses a request for the next occurrences of a job.
//
// Names of members and enumerated values are case-insensitive. null means absent. An unknown member is an
// error, since ignoring it could mean a job that runs at the wrong time.
//
// The JSON of [Definition] and [CollectionProperties], including the order of members, is both the wire
// form and the form stored in workflows.
package job
