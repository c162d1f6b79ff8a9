package overview

// ListFrom sets the number of jobs from which on Temporal's lists are read.
func ListFrom(jobs int) { listedFrom = jobs }

// Lists returns how many scopes an overview keeps lists of.
func Lists(v *Overview) int { return len(v.index.lists) }
