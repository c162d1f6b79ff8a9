package input

import (
	"slices"

	"github.com/google/uuid"

	"almanac/internal/fields"
	"almanac/job"
)

// ParseBinding parses the body that puts an owner on record in a collection of that name.
func ParseBinding(body []byte, collection string) (job.Binding, error) {
	p, err := parseEnvelope(body, selectionLimits(), envelope{what: "owner", beside: []string{"id", "collections", "rebind"}})
	if err != nil {
		return job.Binding{}, err
	}
	p.Rules = fixedRules
	var b struct {
		ID          string   `json:"id" field:"required"`
		Collections []string `json:"collections" field:"required"`
		Rebind      bool     `json:"rebind"`
	}
	p.Decode(p.tree, "", &b)
	id, err := uuid.Parse(b.ID)
	same := func(n string) bool { return fields.SameName(n, collection) }
	if len(p.List) == 0 && err != nil {
		p.fail("id", fields.Invalid, b.ID, "a UUID")
	}
	if !slices.ContainsFunc(b.Collections, same) {
		b.Collections = append(b.Collections, collection)
	}
	slices.Sort(b.Collections)
	named := slices.CompactFunc(b.Collections, fields.SameName)
	return job.Binding{Owner: job.Owner{ID: id.String(), Collections: named}, Rebind: b.Rebind}, p.err("owner")
}

// ParseOwner parses the body that says by which owner a job is pruned.
func ParseOwner(body []byte) (owner string, err error) {
	p, err := parseEnvelope(body, selectionLimits(), envelope{what: "owner", beside: []string{"owner"}})
	if err != nil {
		return "", err
	}
	p.Rules = fixedRules
	var b struct {
		Owner string `json:"owner" field:"required"`
	}
	p.Decode(p.tree, "", &b)
	id, err := uuid.Parse(b.Owner)
	if len(p.List) == 0 && err != nil {
		p.fail("owner", fields.Invalid, b.Owner, "a UUID")
	}
	return id.String(), p.err("owner")
}
