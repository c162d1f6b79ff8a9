// Package api serves the REST API of Azure Scheduler, version 2016-03-01, over
// HTTP.
//
// [New] returns a handler for a [Scheduler], which does the work. Every
// resource has two paths: the one that Azure gave it,
//
//	/subscriptions/{sub}/resourceGroups/{rg}/providers/Microsoft.Scheduler/jobCollections/{jc}/jobs/{job}
//
// where the query parameter api-version is required, and a short one for the
// default subscription and resource group, where it is not:
//
//	/jobCollections/{jc}/jobs/{job}
//
// # Promises
//
// The fixed words of a path compare without case; names are percent-decoded
// once and otherwise handed on as they were sent.
//
// Answers are compact JSON with the members in the order of the service, and
// without those that are null, but for the nextLink of a list. A list without
// $top comes in pages of 100 that nextLink connects; with $top it is the one
// page that was asked for. Where many jobs do not answer, a page may have fewer
// entries, or none, and nextLink goes on with the rest, with $top as well.
// $filter takes comparisons joined by and, such as
//
//	state eq enabled and startTime ge 2026-01-31T08:30:00Z
//
// Deleting, enabling and disabling a collection is done when it is answered
// 200. Answered 202 it goes on, whoever waits for it; the headers tell where
// to ask about it.
//
// Every error has the body {"error":{"code","message","details"}}. Causes that
// a caller cannot mend are logged and never shown.
package api
