// Package start has the program start without garbage collections. The packages of Temporal's server allocate some
// 10 MB when they are initialised, which are kept: to look for garbage in them takes a third of the start of a command
// of the client.
//
// It imports nothing and its path is an early one, so it is initialised before those packages.
package start

// ballast counts as memory that is in use, and garbage is collected when that has doubled. Nothing is ever in it, so it
// takes no place.
var ballast = make([]byte, 16<<20) //nolint:unused // it is there to count

// Done has garbage collected as $GOGC says, from the next time on. The function main calls it first.
func Done() { ballast = nil }
