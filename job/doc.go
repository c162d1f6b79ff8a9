// Package job holds the nouns of Almanac: jobs, collections, actions,
// executions, and what may be said of them.
//
// [ParseDefinition], [MergeDefinition], [ParseCollection] and [MergeCollection]
// read what users write, in the JSON of the Azure Scheduler REST API, and report
// every bad field with its path. Everything they return is valid, and everything
// else in the project relies on that. [ParsePreview] reads the question when a
// job would run.
//
// Names of members, and of what a member enumerates, are read in any case; null
// is as good as absent; what nobody knows is an error, since silence would mean a
// job that runs at the wrong time.
//
// The JSON of [Definition] and [CollectionProperties] is the wire form, member
// order included, and also what workflows store.
package job
