package input

import (
	"encoding/json"
	"reflect"
	"slices"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/kind"
)

// MergeDefinition applies a PATCH to current, a definition without secrets.
//
// Objects are merged member by member, an explicit null removes a member, and lists and scalars replace the
// old value. If the patch changes the action's type, the parameters of the old type are dropped. The merged
// definition is validated as a whole, so errors may name fields that the patch did not contain.
//
// o.Stored is ignored: current takes its place. o.CheckTarget is called only if the patch changes the action, so
// that a job whose action is refused by now can still be disabled.
func MergeDefinition(current job.Definition, patch []byte, o ParseOptions) (job.Definition, error) {
	o = o.withDefaults()
	current = current.Redacted()
	o.Stored, o.merged = &current, true
	p, err := parseEnvelope(patch, o.Limits, envelope{what: "patch", id: o.ID, short: o.Short, inside: definitionMembers})
	if err != nil {
		return job.Definition{}, err
	}
	bare := current
	bare.Local, bare.Owner = nil, ""
	merged, err := treeOf(bare)
	if err != nil {
		return job.Definition{}, err
	}
	dropOldType(merged.Member("action"), p.properties.Member("action"))
	dropOldMeaning(merged.Member("recurrence"), p.properties.Member("recurrence"))
	merged.Merge(p.properties)
	d := p.definition(merged, o)
	d.KeepLocal(&current)
	d.KeepOwner(&current)
	if !reflect.DeepEqual(d.Action, current.Action) {
		p.checkActions(&d.Action, o.CheckTarget)
	}
	if err := p.err("job with this patch"); err != nil {
		return job.Definition{}, err
	}
	if !reflect.DeepEqual(d.Notifications, current.Notifications) {
		if err := CheckNotifications("job with this patch", d.Notifications, o.CheckTarget); err != nil {
			return job.Definition{}, err
		}
	}
	if err := checkPatched("job", d, o.Limits); err != nil {
		return job.Definition{}, err
	}
	return d, checkStored(&d)
}

// checkPatched returns an error if a patch makes a job or a collection too long.
func checkPatched(what string, patched any, l *Limits) error {
	if text, err := fields.PlainJSON(patched); err != nil || len(text) > l.JobBytes {
		return badRequest("The %s would be %d bytes long with this patch; the limit is %d bytes", what, len(text), l.JobBytes)
	}
	return nil
}

// treeOf returns the JSON of a value as a node.
func treeOf(v any) (*fields.Node, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return parseObject(text)
}

// dropOldMeaning removes from a recurrence what its cron expression or its RRULE means, if the patch has another one or
// names none of these members: the start and the time zone, which it may change, are part of what an expression means.
func dropOldMeaning(r, patch *fields.Node) {
	if r.Member("cron") == nil && r.Member("rrule") == nil {
		return
	}
	meaning := []string{"frequency", "interval", "schedule"}
	another := patch.Member("cron") != nil || patch.Member("rrule") != nil
	named := func(name string) bool { return patch != nil && patch.Index(name) >= 0 }
	if !another && (named("cron") || named("rrule") || slices.ContainsFunc(meaning, named)) {
		return
	}
	for _, name := range meaning {
		if patch.Member(name) == nil {
			r.Remove(name)
		}
	}
}

// dropOldType removes from an action the parameters that do not fit the patch's type, and an authentication
// of another type than the patch's. It does the same for the error action.
func dropOldType(action, patch *fields.Node) {
	if action == nil || patch == nil {
		return
	}
	if t := patch.Member("type"); t != nil {
		if wanted := kind.Type(t.Text).Member(); wanted != "" {
			for _, name := range kind.Members() {
				if name != wanted {
					action.Remove(name)
				}
			}
		}
	}
	for _, name := range kind.Members() {
		old, changed := action.Member(name), patch.Member(name).Member("authentication").Member("type")
		was := old.Member("authentication").Member("type")
		if was != nil && changed != nil && !fields.SameName(was.Text, changed.Text) {
			old.Remove("authentication")
		}
	}
	dropOldType(action.Member("errorAction"), patch.Member("errorAction"))
}
