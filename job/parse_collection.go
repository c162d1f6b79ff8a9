package job

import (
	"fmt"
	"math"
)

var collectionMembers = []string{"sku", "state", "quota"}

// ParseCollection parses the body of a PUT of a job collection, with sku, state and quota under
// "properties" or at the top. A nil l means the default limits. The Key is empty, because it is not part of
// the body.
//
// The error is an [*Error] that lists every bad field. It is of KindInvalid, or of KindConflict if the only
// fault is a quota above the plan.
func ParseCollection(body []byte, l *Limits) (Collection, error) {
	l = l.orDefault()
	if err := l.checkSize(body); err != nil {
		return Collection{}, err
	}
	tree, err := parseObject(body)
	if err != nil {
		return Collection{}, err
	}
	b := newBinder(l)
	top, _ := b.object("", tree)
	c := b.besideProperties(top)
	var beyond []*FieldError
	if props, ok := b.properties(tree, collectionMembers...); ok {
		c.Properties, beyond = b.collectionProperties(props)
	}
	if err := b.collectionErr("job collection", beyond); err != nil {
		return Collection{}, err
	}
	return c, nil
}

// MergeCollection applies a PATCH to current, by the rules of [MergeDefinition]. The error is that of
// [ParseCollection].
func MergeCollection(current Collection, patch []byte, l *Limits) (Collection, error) {
	l = l.orDefault()
	if err := l.checkSize(patch); err != nil {
		return Collection{}, err
	}
	tree, err := parseObject(patch)
	if err != nil {
		return Collection{}, err
	}
	b := newBinder(l)
	changes, ok := b.properties(tree, collectionMembers...)
	if !ok {
		return Collection{}, b.err("patch")
	}
	old, err := treeOf(current)
	if err != nil {
		return Collection{}, err
	}
	properties := changes.mergedInto(old.member("properties"))
	tree.remove("properties")
	top, _ := b.object("", tree)
	c := b.besideProperties(top.mergedInto(old))
	c.Key = current.Key
	var beyond []*FieldError
	c.Properties, beyond = b.collectionProperties(properties)
	if err := b.collectionErr("job collection with this patch", beyond); err != nil {
		return Collection{}, err
	}
	return c, nil
}

// besideProperties parses the members of a collection beside "properties".
func (b *binder) besideProperties(o *object) Collection {
	return Collection{Location: o.text("location", textRule{}), Tags: o.strings("tags")}
}

// collectionProperties parses the properties of a collection. beyond are the parts of the quota above the
// plan.
func (b *binder) collectionProperties(o *object) (p CollectionProperties, beyond []*FieldError) {
	p = CollectionProperties{State: CollectionEnabled}
	names := sortedNames(b.limits.Plans)
	if sku, ok := o.object("sku"); ok {
		p.SKU.Name = sku.requiredEnum("name", names...)
		sku.done()
	} else if o.get("sku") == nil {
		b.fail(o.at("sku.name"), nil, oneOf(names))
	}
	if state := o.collectionState(); state != "" {
		p.State = state
	}
	if quota, ok := o.object("quota"); ok {
		p.Quota = quota.quota()
		if plan, ok := b.limits.Plans[p.SKU.Name]; ok {
			beyond = p.Quota.beyond(plan, p.SKU.Name, quota.path)
		}
	}
	o.done()
	return p, beyond
}

// collectionErr returns the error with every bad field of a collection. If the quota is above the plan and
// nothing else is wrong, it is a conflict, since another plan would allow it.
func (b *binder) collectionErr(what string, beyond []*FieldError) error {
	if len(b.fields) == 0 && len(beyond) > 0 {
		conflict := Conflictf("The quota of the %s exceeds its plan", what)
		conflict.Fields = beyond
		return conflict
	}
	for _, f := range beyond {
		b.fail(f.Path, f.Value, f.Want)
	}
	return b.err(what)
}

// collectionState parses the state of a collection; "" if it is absent or bad.
func (o *object) collectionState() CollectionState {
	const name = "state"
	states := []string{string(CollectionEnabled), string(CollectionDisabled), string(CollectionSuspended)}
	if n := o.get(name); n != nil && sameName(n.text, "Deleted") { // the service accepted it, without a known effect
		o.b.fail(o.at(name), n.text, oneOf(states)+"; to delete the collection, send a DELETE request")
		return ""
	}
	return CollectionState(o.enum(name, states...))
}

// quota parses a quota without regard to the plan. Bad members are left out.
func (o *object) quota() *Quota {
	q := &Quota{}
	q.MaxJobCount, _ = o.integer("maxJobCount", 1, math.MaxInt32)
	o.ignore("maxJobOccurrence") // the service accepted it, without an effect
	if inner, ok := o.object("maxRecurrence"); ok {
		q.MaxRecurrence = &MaxRecurrence{Frequency: inner.requiredEnum("frequency", "minute", "hour", "day", "week", "month"), Interval: 1}
		if inner.get("interval") != nil {
			q.MaxRecurrence.Interval, _ = inner.integer("interval", 1, 1000)
		}
		inner.done()
	}
	o.done()
	return q
}

// beyond returns the limits of the quota at path that are above the plan's.
func (q *Quota) beyond(p Plan, sku, path string) (fields []*FieldError) {
	if q.MaxJobCount > p.Jobs {
		fields = append(fields, &FieldError{
			Path: path + ".maxJobCount", Value: q.MaxJobCount,
			Want: fmt.Sprintf("at most %d, which is what the plan %s allows", p.Jobs, sku),
		})
	}
	if r := q.MaxRecurrence; r != nil && r.Duration() > 0 && r.Duration() < p.MinRecurrence {
		fields = append(fields, &FieldError{
			Path: path + ".maxRecurrence", Value: isoText(r.Duration()),
			Want: fmt.Sprintf("%s or longer, which is what the plan %s allows", isoText(p.MinRecurrence), sku),
		})
	}
	return fields
}
