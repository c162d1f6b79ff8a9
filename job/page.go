package job

// A Page is the part of a list that is asked for.
type Page struct {
	Skip, Top int     // entries to leave out, and to return at most
	State     State   // of jobs; empty for any
	Status    Outcome // of history entries; empty for any
}
