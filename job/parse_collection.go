package job

import (
	"fmt"
	"math"
)

var collectionMembers = []string{"sku", "state", "quota"}

// ParseCollection reads a job collection as it is written with PUT: a body
// that holds sku, state and quota under "properties", or at its top. A nil l
// means the default limits. The Key is left empty, since it is not in the body.
//
// The error is an [*Error] that lists every bad field. It is of KindInvalid, or,
// where nothing is wrong but that the quota exceeds the plan, of KindConflict.
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

// MergeCollection reads a PATCH of a job collection: what current becomes by
// it, by the rules of [MergeDefinition]. The error is that of [ParseCollection].
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

// besideProperties reads what a collection's body holds beside "properties".
func (b *binder) besideProperties(o *object) Collection {
	return Collection{Location: o.text("location", textRule{}), Tags: o.strings("tags")}
}

// collectionProperties reads the properties of a collection, and returns beside
// them what of their quota is beyond their plan.
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

// collectionErr returns the error that reports every bad field of a collection,
// and what of its quota is beyond its plan. That alone is a conflict: another
// plan would make it good.
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

// collectionState reads the state of a collection; "" for an absent or bad one.
func (o *object) collectionState() CollectionState {
	const name = "state"
	states := []string{string(CollectionEnabled), string(CollectionDisabled), string(CollectionSuspended)}
	if n := o.get(name); n != nil && sameName(n.text, "Deleted") { // the service took it, to no known effect
		o.b.fail(o.at(name), n.text, oneOf(states)+"; to delete the collection, send a DELETE request")
		return ""
	}
	return CollectionState(o.enum(name, states...))
}

// quota reads a quota, whatever the plan says of it. What is bad is left out.
func (o *object) quota() *Quota {
	q := &Quota{}
	q.MaxJobCount, _ = o.integer("maxJobCount", 1, math.MaxInt32)
	o.ignore("maxJobOccurrence") // the service took it, to no effect
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

// beyond returns the limits of the quota at path that are wider than the plan's.
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
