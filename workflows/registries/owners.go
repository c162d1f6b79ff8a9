package registries

import (
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
)

// The bounds of the record of owners: how many a collection has, and how many bytes one takes as JSON.
const (
	maxOwners     = 20
	maxOwnerBytes = 10_000
)

// listOwners answers a query.
func (c *collection) listOwners() ([]job.Owner, error) { return c.Owners, c.present() }

// mayBindOwner refuses most requests before they are in the history.
func (c *collection) mayBindOwner(_ workflow.Context, b job.Binding) error {
	_, err := c.bound(&b)
	return err
}

// bindOwner puts an owner on record, at its first use in the collection. Later it may only be about more collections
// than it was, unless the caller says that it is to be bound anew: two directories with the id of one are told apart.
func (c *collection) bindOwner(_ workflow.Context, b job.Binding) (job.Owner, error) {
	c.note()
	at, err := c.bound(&b)
	if err != nil {
		return job.Owner{}, err
	}
	if at < 0 {
		c.Owners = append(c.Owners, b.Owner)
	} else {
		c.Owners[at] = b.Owner
	}
	c.other = c.sizeWith(&c.Collection)
	return b.Owner, nil
}

// bound returns where an owner is on record; -1 if it is not. The error says why it cannot be as b has it.
func (c *collection) bound(b *job.Binding) (at int, err error) {
	if err := c.present(); err != nil {
		return -1, err
	}
	at = slices.IndexFunc(c.Owners, func(o job.Owner) bool { return o.ID == b.ID })
	switch {
	case sizeOf(&b.Owner) > maxOwnerBytes:
		return at, workflows.Refusef(workflows.ErrTypeInvalid, "The owner names so many job collections that they have more than %d bytes.", maxOwnerBytes)
	case at < 0 && len(c.Owners) >= maxOwners:
		return at, workflows.Refusef(workflows.ErrTypeConflict, "The job collection '%s' has %d owners on record, which is the maximum.",
			c.Key.Name, maxOwners)
	case c.size+c.other+maxOwnerBytes > maxRegistryBytes-claimsBytes:
		return at, workflows.Refusef(workflows.ErrTypeConflict, "The job collection '%s' is full: it has %d jobs.", c.Key.Name, len(c.entries))
	case at < 0 || b.Rebind:
		return at, nil
	}
	for _, before := range c.Owners[at].Collections {
		if !slices.ContainsFunc(b.Collections, func(n string) bool { return job.NormalizeName(n) == job.NormalizeName(before) }) {
			return at, workflows.Refusef(workflows.ErrTypeConflict,
				"The owner %s is on record for the job collections %s, and the request names only %s: its id may have been copied to "+
					"another directory, which needs one of its own. If it is the same one, bind it anew.",
				b.ID, strings.Join(c.Owners[at].Collections, ", "), strings.Join(b.Collections, ", "))
		}
	}
	return at, nil
}
