// Package api serves the REST API of Azure Scheduler, version 2016-03-01, over HTTP.
//
// [New] returns a handler that calls a [Scheduler]. Every resource has two paths: Azure's own, which
// requires the query parameter api-version,
//
//	/subscriptions/{sub}/resourceGroups/{rg}/providers/Microsoft.Scheduler/jobCollections/{jc}/jobs/{job}
//
// and a short one for the default subscription and resource group, where api-version is optional:
//
//	/jobCollections/{jc}/jobs/{job}
//
// # Contract
//
// The fixed words of a path are case-insensitive. Names are percent-decoded once and passed on unchanged.
//
// Answers are compact JSON with members in the service's order. Null members are left out, except the
// nextLink of a list.
//
// A list without $top has pages of 100 entries, linked by nextLink. With $top it is one page. If many jobs
// do not answer, a page may have fewer entries or none; then nextLink leads to the rest, with $top too.
// $filter is comparisons joined by "and", such as
//
//	state eq enabled and startTime ge 2026-01-31T08:30:00Z
//
// Deleting, enabling or disabling a collection is answered with 200 when it is complete. Otherwise the
// answer is 202: the operation continues on its own, and the headers Location and Azure-AsyncOperation say
// where to poll it.
//
// Every error has the body {"error":{"code","message","details"}}. Causes that the caller cannot fix are
// logged and not shown.
package api
