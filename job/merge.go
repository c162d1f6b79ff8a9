package job

import (
	"encoding/json"
	"reflect"
	"slices"
)

// MergeDefinition applies a PATCH to current, a definition without secrets.
//
// Objects are merged member by member, an explicit null removes a member, and lists and scalars replace the
// old value. If the patch changes the action's type, the parameters of the old type are dropped. The merged
// definition is validated as a whole, so errors may name fields that the patch did not contain.
//
// o.Stored is ignored: current takes its place. o.Check is called only if the patch changes the action, so
// that a job whose action is refused by now can still be disabled.
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

// checkID reports a body whose id is that of another job.
func (b *binder) checkID(body *node, id string) {
	given := body.member("id")
	if given == nil || id == "" || given.kind == jsonString && sameName(given.text, id) {
		return
	}
	b.mismatch("id", given, "the id of this job, "+id+", or none")
}

// checkMerged returns an error if the merged job is larger than JobBytes.
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

// treeOf returns the JSON of a value as a node.
func treeOf(v any) (*node, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return parseObject(text)
}

// mergedInto merges the members of o into old, which it changes, and returns the result at the path of o.
// Tolerated members are left out.
func (o *object) mergedInto(old *node) *object {
	patch := *o.node
	patch.entries = slices.DeleteFunc(slices.Clone(patch.entries), func(e entry) bool {
		return slices.Contains(o.tolerated, NormalizeName(e.name))
	})
	merge(old, &patch)
	return &object{b: o.b, path: o.path, node: old}
}

// merge applies a patch, which is an object, to n.
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

// dropOldType removes from an action the parameters that do not fit the patch's type, and an authentication
// of another type than the patch's. It does the same for the error action.
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
