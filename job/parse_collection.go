package job

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

var collectionMembers = []string{"sku", "state", "quota"}

// ParseCollection reads a job collection as it is written with PUT: a body
// that holds sku, state and quota under "properties", or at its top. A nil l
// means the default limits. The Key is left empty, since it is not in the body.
// The error is an [*Error] of KindInvalid that lists every bad field.
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
	if props, ok := b.properties(tree, collectionMembers...); ok {
		c.Properties = b.collectionProperties(props)
	}
	if err := b.err("job collection"); err != nil {
		return Collection{}, err
	}
	return c, nil
}

// MergeCollection reads a PATCH of a job collection: what current becomes by
// it, by the rules of [MergeDefinition].
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
	c.Properties = b.collectionProperties(properties)
	if err := b.err("job collection with this patch"); err != nil {
		return Collection{}, err
	}
	return c, nil
}

// besideProperties reads what a collection's body holds beside "properties".
func (b *binder) besideProperties(o *object) Collection {
	return Collection{Location: o.text("location", textRule{}), Tags: o.strings("tags")}
}

func (b *binder) collectionProperties(o *object) CollectionProperties {
	p := CollectionProperties{State: CollectionEnabled}
	names := slices.Sorted(maps.Keys(b.limits.Plans))
	if sku, ok := o.object("sku"); ok {
		p.SKU.Name = sku.requiredEnum("name", names...)
		sku.done()
	} else if o.get("sku") == nil {
		b.fail(o.at("sku.name"), nil, oneOf(names))
	}
	if state := o.enum("state", string(CollectionEnabled), string(CollectionDisabled), string(CollectionSuspended)); state != "" {
		p.State = CollectionState(state)
	}
	if quota, ok := o.object("quota"); ok {
		p.Quota = b.quota(quota, p.SKU.Name)
	}
	o.done()
	return p
}

// quota reads a quota, which may only tighten what the plan allows.
func (b *binder) quota(o *object, sku string) *Quota {
	q := &Quota{}
	plan, known := b.limits.Plans[sku]
	q.MaxJobCount, _ = o.integer("maxJobCount", 1, math.MaxInt32)
	if known && q.MaxJobCount > plan.Jobs {
		b.fail(o.at("maxJobCount"), q.MaxJobCount, fmt.Sprintf("at most %d, which is what the plan %s allows", plan.Jobs, sku))
	}
	o.ignore("maxJobOccurrence") // the service took it, to no effect
	if inner, ok := o.object("maxRecurrence"); ok {
		r := &MaxRecurrence{Frequency: inner.requiredEnum("frequency", "minute", "hour", "day", "week", "month"), Interval: 1}
		if n, ok := inner.integer("interval", 1, 1000); ok {
			r.Interval = n
		}
		inner.done()
		if known && r.Frequency != "" && r.Duration() < plan.MinRecurrence {
			b.fail(inner.at("interval"), r.Interval, fmt.Sprintf("%s or more in all, which is what the plan %s allows", isoText(plan.MinRecurrence), sku))
		}
		q.MaxRecurrence = r
	}
	o.done()
	return q
}
