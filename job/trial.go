package job

// A Trial is what became of an action that was sent once, without being saved.
type Trial struct {
	Key     Key     // of the job that it would be saved as
	ID      string  // of the execution, which the receiver got
	Attempt Attempt // its record
}
