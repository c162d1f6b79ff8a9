// Package client calls the REST API of Almanac.
//
// A [Client] belongs to one API and one resource group of it:
//
//	c, err := client.New("http://127.0.0.1:8080", client.Options{Token: os.Getenv("ALMANAC_TOKEN")})
//	job, err := c.Job(ctx, "reports", "nightly")
//
// The package imports the standard library only. Its types have the members of the schemas in openapi.yaml, which a
// test compares with them.
//
// # Lists
//
// A list is an iterator that reads page after page:
//
//	for job, err := range c.Jobs(ctx, "reports", client.List{Filter: "state eq enabled"}) {
//
// An error ends the iteration, except for an [*UnreadError]: that entry could not be read, and others follow. The
// methods whose names end in Page return one page, and where the next one begins.
//
// # Errors
//
// An answer with an error is an [*Error]: its HTTP status, its code, its message, and the members of the body that
// are wrong. [StatusOf] and [CodeOf] return these of any error. An error of the connection is returned as it is.
//
// # Changes
//
// PUT and PATCH take preconditions, such as [IfMatch] with the ETag of what was read: if somebody has changed it since,
// the error has the status 412, and nothing was done. The client repeats no request. Those that may be repeated without
// harm are PUT, PATCH, DELETE, enable, disable, skip with a due time, and rerun with a name.
package client
