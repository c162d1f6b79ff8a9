package job

import (
	"encoding/json"
	"reflect"
	"slices"
)

// MergeDefinition reads a PATCH of a job: what current, which is without
// secrets, becomes by it.
//
// Objects merge member by member, an explicit null removes a member, and lists
// and plain values replace what was there. A patch of the action's type drops
// the parameters of the old type. The result is checked as a whole, so errors
// may name fields that the patch did not send.
//
// o.Stored is not looked at: it is current. o.Check is asked only where the patch
// changes the action, so that what is refused by now can still be disabled.
func MergeDefinition(current Definition, patch []byte, o ParseOptions) (Definition, error) {
	o = o.withDefaults()
	current = current.Redacted()
	o.Stored = &current
	if err := o.Limits.checkSize(patch); err != nil {
		return Definition{}, err
	}
	tree, err := parseObject(patch)
	if err != nil {
		return Definition{}, err
	}
	b := newBinder(o.Limits)
	b.checkID(tree, o.ID)
	changes, ok := b.properties(tree, definitionMembers...)
	if !ok {
		return Definition{}, b.err("patch")
	}
	if changes.node.member("status") != nil {
		b.fail(changes.at("status"), nil, "none: it is read-only")
	}
	old, err := treeOf(current)
	if err != nil {
		return Definition{}, err
	}
	dropOldType(old.member("action"), changes.node.member("action"))
	merged := changes.mergedInto(old)
	d := b.definition(merged, o)
	if !reflect.DeepEqual(d.Action, current.Action) {
		b.checkActions(merged.at("action"), &d.Action, o.Check)
	}
	if err := b.err("job with this patch"); err != nil {
		return Definition{}, err
	}
	if err := o.Limits.checkMerged(&d); err != nil {
		return Definition{}, err
	}
	return d, d.checkStored()
}

// checkID refuses a body that is of another job than the one of that id.
func (b *binder) checkID(body *node, id string) {
	given := body.member("id")
	if given == nil || id == "" || given.kind == jsonString && sameName(given.text, id) {
		return
	}
	b.mismatch("id", given, "the id of this job, "+id+", or none")
}

// checkMerged refuses what patches made larger than a job may be.
func (l *Limits) checkMerged(d *Definition) error {
	text, err := plainJSON(d)
	if err != nil {
		return err
	}
	if len(text) > l.JobBytes {
		return badRequest("The job would be %d bytes long with this patch, more than the %d that are taken", len(text), l.JobBytes)
	}
	return nil
}

// treeOf returns the JSON of a value.
func treeOf(v any) (*node, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return parseObject(text)
}

// mergedInto returns old, which it changes, with the members of o merged into
// it, at the path of o. What o tolerates does not count.
func (o *object) mergedInto(old *node) *object {
	patch := *o.node
	patch.entries = slices.DeleteFunc(slices.Clone(patch.entries), func(e entry) bool {
		return slices.Contains(o.tolerated, Fold(e.name))
	})
	merge(old, &patch)
	return &object{b: o.b, path: o.path, node: old}
}

// merge applies a patch, an object, to n.
func merge(n, patch *node) {
	for _, e := range patch.entries {
		i := n.index(e.name)
		switch {
		case e.value.kind == jsonNull:
			n.remove(e.name)
		case i < 0:
			n.entries = append(n.entries, e)
		case e.value.kind == jsonObject && n.entries[i].value.kind == jsonObject:
			merge(n.entries[i].value, e.value)
		default:
			n.entries[i] = e
		}
	}
}

// dropOldType removes from an action what does not fit the type that a patch
// gives it, and the same from its error action.
func dropOldType(action, patch *node) {
	if action == nil || patch == nil {
		return
	}
	if t := patch.member("type"); t != nil {
		if wanted := ActionType(t.text).parameter(); wanted != "" {
			for _, name := range parameters {
				if name != wanted {
					action.remove(name)
				}
			}
		}
	}
	for _, name := range parameters {
		old, changed := action.member(name), patch.member(name).member("authentication").member("type")
		if was := old.member("authentication").member("type"); was != nil && changed != nil && !sameName(was.text, changed.text) {
			old.remove("authentication")
		}
	}
	dropOldType(action.member("errorAction"), patch.member("errorAction"))
}
