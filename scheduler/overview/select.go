package overview

import (
	"context"
	"slices"
	"strings"

	"almanac/job"
	"almanac/job/listing"
)

// Select returns all jobs of a collection that a search and a filter select or, if names are given, those of these
// names, and the names that no job has. Jobs that this process changed are as they are, others as in [Overview.Summaries].
func (v *Overview) Select(
	ctx context.Context, k job.CollectionKey, q listing.SummaryQuery, names []string,
) (all []listing.Summary, missing []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	s := listing.Scope{Subscription: k.Subscription, ResourceGroup: k.ResourceGroup, Collection: k.Name}
	r, err := v.survey(ctx, s, q.View, v.listed)
	if err != nil {
		return nil, nil, err
	}
	r.date(ctx, r.rows())
	counts, hosts := newCounts(), map[string]int{}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[job.NormalizeName(name)] = true
	}
	var rows, stale []*row
	for i := range r.jobs {
		w := &r.jobs[i]
		g := w.look(r.now, &counts, hosts)
		if len(names) > 0 && !wanted[w.name] || len(names) == 0 && !w.matches(&q, g) {
			continue
		}
		if delete(wanted, w.name); w.stale || w.old {
			stale = append(stale, w)
		}
		rows = append(rows, w)
	}
	if len(rows) > job.MaxBulk {
		return nil, nil, tooMany("%d jobs; at most %d are changed together", len(rows), job.MaxBulk)
	}
	r.describe(ctx, stale)
	r.date(ctx, stale)
	for _, w := range rows {
		if w.id == "" {
			continue
		}
		if w.outline != nil {
			w.Summary, _ = w.summary(w.Key, r.now)
		}
		all = append(all, w.Summary)
	}
	slices.SortFunc(all, func(a, b listing.Summary) int {
		return strings.Compare(job.NormalizeName(a.Key.Name), job.NormalizeName(b.Key.Name))
	})
	for _, name := range names {
		if wanted[job.NormalizeName(name)] {
			missing = append(missing, name)
		}
	}
	return all, missing, nil
}
