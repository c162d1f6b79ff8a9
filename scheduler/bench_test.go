package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler"
	"almanac/workflows"
)

// What a list costs without the calls of Temporal, which answers here at once, for callers who may see all of it or a
// part. There are 10,000 assignments.
func BenchmarkListAThousandJobs(b *testing.B) {
	const jobs = 1000
	d := &directory{t: b, answers: map[string]any{}, runs: "run"}
	var listed []workflows.Listed
	for i := range jobs {
		j := job.Job{Key: key.Collection.Job(fmt.Sprintf("job-%04d", i)), Definition: job.Definition{State: job.StateEnabled}}
		listed = append(listed, workflows.Listed{Name: j.Key.Name, Sequence: i + 1})
		d.answers[j.Key.WorkflowID()+" "+workflows.QueryStatus] = j
	}
	d.answers[key.Collection.WorkflowID()+" "+workflows.QueryJobs] = workflows.JobList{Collection: key.Collection, Jobs: listed}
	s := scheduler.New(scheduler.Options{Client: d})
	for _, bm := range []struct {
		name  string
		view  listing.View
		shown int
	}{
		{"everyone may see all", nil, jobs},
		{"a role for the collection", assigned(jobs, 0), jobs},
		{"a role for each job", assigned(jobs, 1), jobs},
		{"a role for every tenth job", assigned(jobs, 10), jobs / 10},
	} {
		b.Run(bm.name, func(b *testing.B) {
			read := func() (n int) {
				for p := (listing.Page{Top: 100, View: bm.view}); ; {
					page, next, err := s.Jobs(b.Context(), key.Collection, p)
					require.NoError(b, err)
					if n += len(page); next == "" {
						return n
					}
					p.After = next
				}
			}
			require.Equal(b, bm.shown, read()) // what follows is warm
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
		})
	}
}

// assigned returns what a caller sees who has a role for every so many jobs of the collection; 0: for the collection.
func assigned(jobs, every int) listing.View {
	who := access.Selector{Kind: access.KindToken, Value: "caller"}
	all := make([]access.Assignment, 0, 10_000)
	give := func(to access.Selector, at access.Scope) {
		all = append(all, access.Assignment{Principal: to, Grant: access.Grant{Role: access.Reader, Scope: at}})
	}
	if every == 0 {
		give(who, access.ScopeOfCollection(key.Collection))
	} else {
		for i := 0; i < jobs; i += every {
			give(who, access.ScopeOfJob(key.Collection.Job(fmt.Sprintf("job-%04d", i))))
		}
	}
	for i := len(all); i < cap(all); i++ {
		give(access.Selector{Kind: access.KindToken, Value: fmt.Sprint("other", i)}, access.ScopeOfCollection(key.Collection))
	}
	return access.NewPolicy(all).For(&access.Principal{Selectors: []access.Selector{who}})
}
