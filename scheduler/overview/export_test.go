package overview

// ListFrom sets the number of jobs from which on Temporal's lists are read.
func ListFrom(jobs int) { listedFrom = jobs }
