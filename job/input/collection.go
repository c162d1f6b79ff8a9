package input

import (
	"fmt"
	"time"

	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/quota"
)

var collectionMembers = fields.Names[job.CollectionProperties]()

// ParseCollection parses the body of a PUT of a job collection, with sku, state and quota under
// "properties" or at the top. A nil l means the default limits. The Key is empty, because it is not part of
// the body.
//
// The error is an [*job.Error] that lists every bad field. It is of [job.KindInvalid], or of [job.KindConflict] if the
// only fault is a quota above the plan.
func ParseCollection(body []byte, l *Limits) (job.Collection, error) {
	l = l.orDefault()
	p, err := parseEnvelope(body, l, envelope{what: "job collection", inside: collectionMembers})
	if err != nil {
		return job.Collection{}, err
	}
	return p.collection("job collection", p.tree, p.properties)
}

// ValidateCollection checks a collection that was built in Go by the rules of [ParseCollection], whose error
// it returns. As with [ValidateDefinition], words must be spelled as the constants of package job.
func ValidateCollection(c *job.Collection, l *Limits) error {
	text, err := fields.PlainJSON(struct {
		Location   string                   `json:"location,omitempty"`
		Tags       job.Members              `json:"tags,omitzero"`
		Properties job.CollectionProperties `json:"properties"`
	}{c.Location, c.Tags, c.Properties})
	if err != nil {
		return badRequest("The job collection is not valid: %v", err)
	}
	if _, err := ParseCollection(text, l); err != nil {
		return err
	}
	if bad := misspelled(c); len(bad.List) > 0 {
		return invalid("job collection", bad)
	}
	return nil
}

// CheckCollection is [ValidateCollection] without the limits that an operator may change. It is for a collection
// that did not come through the API.
func CheckCollection(c *job.Collection) error {
	return ValidateCollection(c, unlimited())
}

// MergeCollection applies a PATCH to current, by the rules of [MergeDefinition]. The error is that of
// [ParseCollection].
func MergeCollection(current job.Collection, patch []byte, l *Limits) (job.Collection, error) {
	l = l.orDefault()
	p, err := parseEnvelope(patch, l, envelope{what: "patch", inside: collectionMembers})
	if err != nil {
		return job.Collection{}, err
	}
	merged, err := treeOf(current)
	if err != nil {
		return job.Collection{}, err
	}
	merged.Merge(p.tree.Without("properties"))
	properties := merged.Member("properties")
	properties.Merge(p.properties)
	c, err := p.collection("job collection with this patch", merged, properties)
	if err != nil {
		return job.Collection{}, err
	}
	c.Key = current.Key
	return c, checkPatched("job collection", c, l)
}

// collection parses a collection from its body and its properties. If the quota is above the plan and nothing
// else is wrong, the error is a conflict, since another plan would allow it.
func (p *parser) collection(what string, body, properties *fields.Node) (c job.Collection, err error) {
	var beside struct {
		Location string      `json:"location"`
		Tags     job.Members `json:"tags"`

		_ struct{} `ignore:"*"`
	}
	p.Decode(body, "", &beside)
	c.Location, c.Tags = beside.Location, beside.Tags
	c.Properties = p.collectionProperties(properties)
	var beyond []*job.FieldError
	if tier, ok := p.limits.Tiers[c.Properties.SKU.Name]; ok && c.Properties.Quota != nil {
		beyond = beyondTier(c.Properties.Quota, tier, c.Properties.SKU.Name, p.pathOf("quota"))
	}
	if len(p.List) == 0 && len(beyond) > 0 {
		conflict := job.Conflictf("The quota of the %s exceeds its plan", what)
		conflict.Fields = beyond
		return job.Collection{}, conflict
	}
	for _, e := range beyond {
		p.Add(e)
	}
	if err := p.err(what); err != nil {
		return job.Collection{}, err
	}
	return c, nil
}

// collectionProperties parses the properties of a collection.
func (p *parser) collectionProperties(n *fields.Node) (c job.CollectionProperties) {
	if state := n.Member("state"); state != nil && fields.SameName(state.Text, "Deleted") {
		// the service accepted it, without a known effect
		p.Add(&job.FieldError{
			Path: p.pathOf("state"), Code: fields.Unsupported, Value: state.Text,
			Allowed: "Enabled, Disabled or Suspended", Hint: "to delete the collection, send a DELETE request",
		})
		n = n.Without("state")
	}
	p.Rules = p.limits.rules(time.UTC)
	p.secretsLater = true // KeepCollectionSecrets
	p.prepareTargets(n.Member("notifications"), p.pathOf("notifications"))
	p.Decode(n, p.path, &c)
	p.notifications(c.Notifications, p.pathOf("notifications"), nil)
	if n.Index("blackouts") >= 0 && c.Blackouts == nil {
		c.Blackouts = []job.Blackout{} // see [job.CollectionProperties]
	}
	p.blackouts(c.Blackouts, nil, false, true)
	return c
}

// beyondTier returns the limits of the quota at path that are above the tier's.
func beyondTier(q *job.Quota, tier quota.Tier, sku, path string) (bad []*job.FieldError) {
	if q.MaxJobCount > tier.Jobs {
		bad = append(bad, &job.FieldError{
			Path: path + ".maxJobCount", Code: fields.OutOfRange, Value: q.MaxJobCount,
			Allowed: fmt.Sprintf("at most %d, which is what the plan %s allows", tier.Jobs, sku),
		})
	}
	if r := q.MaxRecurrence; r != nil && r.Duration() > 0 && r.Duration() < tier.MinRecurrence {
		bad = append(bad, &job.FieldError{
			Path: path + ".maxRecurrence", Code: fields.OutOfRange, Value: iso8601.FormatDuration(r.Duration()),
			Allowed: fmt.Sprintf("%s or longer, which is what the plan %s allows", iso8601.FormatDuration(tier.MinRecurrence), sku),
		})
	}
	return bad
}
