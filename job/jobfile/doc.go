// Package jobfile reads and writes job files: jobs in YAML or JSON, as `almanac plan` and `almanac apply` take them.
//
// A file has one job or several: YAML documents, or JSON objects one after the other, or a list. A job is its name and
// what a PUT of it has, either under "properties" or beside the name:
//
//	name: nightly
//	recurrence: {frequency: day}
//	action:
//	  type: Https
//	  request: {uri: https://example.com/nightly}
//
// [Read] returns the jobs of a file with the places of their members, [New] makes a job of what a program has, and
// [Write] writes jobs. [Schema] is the JSON schema of a job file.
//
// # Secrets
//
// A secret is a [Reference] in a file, such as {$env: NAME}, and only where the API takes a secret that it never
// answers. The package resolves none.
package jobfile
