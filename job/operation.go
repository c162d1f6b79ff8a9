package job

// An Operation is a change of a collection that takes longer than a request. It continues on its own.
type Operation struct {
	ID     string // opaque: letters, digits, hyphens and full stops
	Done   bool   // it has succeeded or failed
	Failed *Error // nil if it has not failed
}
