package overview

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
)

// Digests returns a page of the digests of the jobs of a collection, from the index: see [Overview.Summaries] for what is
// of the moment and what is not. A job that could not be read, or that this process has changed and that could not be
// described in time, has none.
func (v *Overview) Digests(ctx context.Context, k job.CollectionKey, p listing.Page) (listing.Digests, error) {
	of := "digests " + k.WorkflowID()
	if err := core.Open(of, &p); err != nil {
		return listing.Digests{}, err
	}
	after, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil {
		return listing.Digests{}, core.BadToken()
	}
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	scope := listing.Scope{Subscription: k.Subscription, ResourceGroup: k.ResourceGroup, Collection: k.Name}
	r, err := v.survey(ctx, scope, p.View, v.listed)
	if err != nil {
		return listing.Digests{}, err
	}
	for i := range r.jobs {
		r.jobs[i].name = job.NormalizeName(r.jobs[i].Key.Name)
	}
	rows := slices.DeleteFunc(r.jobs, func(w row) bool { return w.name == "" || w.name <= string(after) })
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	found := listing.Digests{AsOf: r.asOf}
	if len(rows) > p.Top {
		rows = rows[:p.Top]
		found.Next = core.Token(of, base64.RawURLEncoding.EncodeToString([]byte(rows[p.Top-1].name)))
	}
	for i := range rows {
		found.Page = append(found.Page, rows[i].digest(r))
	}
	return found, nil
}

func (w *row) digest(r *survey) listing.Digest {
	d := listing.Digest{Key: w.Key}
	if w.outline == nil || w.stale || w.old {
		return d
	}
	d.Owner, d.Pruning, d.Once = w.Owner, w.outline.Pruning, w.Recurrence == nil
	d.Generation, d.State, d.Digest = w.Generation, w.glance(r.now).state, w.Digest
	return d
}
