package wanted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"almanac/client"
)

// mayPrune returns an error if the jobs of a directory are not all that its owner has.
func (d *Directory) mayPrune() error {
	switch {
	case d.Config.Owner == "":
		return fmt.Errorf("nothing can be pruned: only jobs of an owner are, and %s has none; almanac init makes one", ConfigFile)
	case d.Part:
		return fmt.Errorf("nothing can be pruned with a part of the files: -f has to name the directory of %s", ConfigFile)
	}
	return nil
}

// findPruned adds the jobs of the owner that the files do not have any more.
func (p *Plan) findPruned(ctx context.Context) error {
	kept, filled := map[string]bool{}, map[string]bool{}
	for _, c := range p.Changes {
		kept[keyOf(c.Collection, c.Name)], filled[keyOf(c.Collection, "")] = true, true
	}
	var empty []string
	for _, collection := range p.config.Collections {
		found, err := p.gone(ctx, collection, kept)
		if err != nil {
			return err
		}
		if len(found) > 0 && !filled[keyOf(collection, "")] {
			empty = append(empty, collection)
		}
		p.Changes = append(p.Changes, found...)
	}
	if len(empty) > 0 && !p.options.AllowEmpty {
		return fmt.Errorf("the files have no job of %s, so all its jobs of this owner would be pruned: "+
			"if that is meant, pass --allow-empty", strings.Join(empty, ", "))
	}
	return nil
}

// gone returns the jobs of a collection that are to be pruned.
func (p *Plan) gone(ctx context.Context, collection string, kept map[string]bool) (found []*Change, err error) {
	for d, err := range p.options.Client.Digests(ctx, collection) {
		if err != nil {
			return nil, missing(collection, err)
		}
		_, name := client.NamesOf(d.Name)
		if kept[keyOf(collection, name)] {
			continue
		}
		c := &Change{Collection: collection, Name: name, Action: Prune, etag: d.ETag}
		once, mine := d.Once, d.Owner == p.config.Owner && d.PruneAt.IsZero()
		if d.ETag == "" { // it is not known
			if mine, once, err = p.mine(ctx, c); err != nil {
				return nil, err
			}
		}
		switch {
		case mine && once:
			p.Once = append(p.Once, c.name())
		case mine:
			found = append(found, c)
		}
	}
	slices.Sort(p.Once)
	return found, nil
}

// mine reads the job of a change, and reports whether it belongs to the owner, is not pruned, and whether it runs once.
func (p *Plan) mine(ctx context.Context, c *Change) (mine, once bool, err error) {
	if err := p.readOne(ctx, c); err != nil || c.is == nil {
		return false, false, err
	}
	return c.is.owner == p.config.Owner && c.is.pruned == "", c.is.definition.Recurrence == nil, nil
}

// bind puts the owner on record in each collection, if the plan makes or prunes jobs in its name.
func (p *Plan) bind(ctx context.Context) error {
	s := p.Summary()
	if p.config.Owner == "" || s.Create+s.Prune == 0 && !p.options.Adopt {
		return nil
	}
	owner := client.Owner{ID: p.config.Owner, Collections: p.config.Collections}
	for _, collection := range p.config.Collections {
		err := patiently(ctx, func() error {
			_, err := p.options.Client.BindOwner(ctx, collection, owner, p.options.Rebind)
			return err
		})
		if err != nil {
			return fmt.Errorf("nothing was changed: the owner cannot be put on record in job collection %s: %w", collection, err)
		}
	}
	return nil
}

// prune prunes the jobs of a plan, unless another job could not be stored: it may take the place of one of them.
func (p *Plan) prune(ctx context.Context, a *Apply, sent []Result) []Result {
	complete := !slices.ContainsFunc(sent, func(r Result) bool { return r.Outcome == Failed || r.Outcome == NotDone })
	var gone []*Change
	for _, c := range p.Changes {
		if c.Action == Prune {
			gone = append(gone, c)
		}
	}
	results := make([]Result, len(gone))
	numbers := make([]int, len(gone))
	for i := range numbers {
		numbers[i] = i
	}
	each(p.options.Parallel, numbers, func(i int) {
		c := gone[i]
		r := Result{Collection: c.Collection, Name: c.Name, Outcome: NotDone}
		switch {
		case !complete:
			r.Error = "other jobs are not as the files say"
		case ctx.Err() == nil:
			p.pruneOne(ctx, a, c, &r)
		}
		results[i] = r
		if a.Done != nil {
			a.Done(r)
		}
	})
	return results
}

// pruneOne prunes a job that still is as it was planned.
func (p *Plan) pruneOne(ctx context.Context, a *Apply, c *Change, r *Result) {
	for try := 0; ; try++ {
		_, err := p.options.Client.PruneJob(ctx, c.Collection, c.Name, p.config.Owner, client.IfMatch(c.etag))
		switch again := try+1 < tries; {
		case err == nil:
			r.Outcome = Pruned
			return
		case client.IsNotFound(err):
			r.Outcome = Unchanged // it is gone
			return
		case again && client.IsChanged(err):
			mine, once, err := p.mine(ctx, c)
			switch {
			case err != nil:
				r.Outcome, r.Error = Failed, err.Error()
				return
			case !mine || once:
				r.Outcome = Unchanged
				return
			case a.Changed == nil || !a.Changed(c):
				r.Error = "it was changed by somebody else meanwhile"
				return
			}
		case again && passes(err) && wait(ctx, err, try):
		default:
			r.Outcome, r.Error = Failed, err.Error()
			if errors.Is(err, context.Canceled) {
				r.Error = "the apply was interrupted: whether it is pruned is not known"
			}
			return
		}
	}
}
