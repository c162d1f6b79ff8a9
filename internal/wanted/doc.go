// Package wanted compares the jobs of a directory with those of a server, and makes the server have them.
//
// [Load] reads the files, [New] plans, [Plan.Apply] does what a plan says, and [Export] writes files of what the server
// has. The package asks nobody and prints nothing but what it is given a writer for.
//
// # What is compared
//
// A file and an answer of the API are read by the API's own rules, so that spellings, defaults and what the server adds
// are no difference. The state of a job whose file has none is left as it is. Secrets are not compared, because no
// answer has them: a job with references to secrets is sent again by an apply, and stays as it is if they are the same.
package wanted
