package job

import (
	"encoding/json"
	"maps"
	"strings"
)

// mergePatch returns the patch of RFC 7396 that makes one object of another.
func mergePatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for name, was := range from {
		is, there := to[name]
		below, wasObject := was.(map[string]any)
		above, isObject := is.(map[string]any)
		switch {
		case !there:
			patch[name] = nil
		case wasObject && isObject:
			if inner := mergePatch(below, above); len(inner) > 0 {
				patch[name] = inner
			}
		case !sameJSON(was, is):
			patch[name] = is
		}
	}
	for name, is := range to {
		if _, there := from[name]; !there {
			patch[name] = is
		}
	}
	return patch
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a) // both were decoded from JSON
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// applied returns an object to which a patch of RFC 7396 was applied.
func applied(to map[string]any, patch map[string]any) map[string]any {
	result := map[string]any{}
	maps.Copy(result, to)
	for name, value := range patch {
		inner, isObject := value.(map[string]any)
		switch below, _ := result[name].(map[string]any); {
		case value == nil:
			delete(result, name)
		case isObject:
			result[name] = applied(below, inner)
		default:
			result[name] = value
		}
	}
	return result
}

// asPatched returns what a PATCH makes of a job: before the patch is applied, what a cron expression or an RRULE meant
// goes if it has another, and the parameters of an action go if it has another type.
func asPatched(now, patch map[string]any) map[string]any {
	was, change := objectIn(now, "properties"), objectIn(patch, "properties")
	properties := maps.Clone(was)
	if r, to := objectIn(was, "recurrence"), objectIn(change, "recurrence"); (r["cron"] != nil || r["rrule"] != nil) && losesMeaning(to) {
		r = maps.Clone(r)
		for _, member := range []string{"frequency", "interval", "schedule"} {
			delete(r, member)
		}
		properties["recurrence"] = r
	}
	if a := objectIn(was, "action"); a != nil {
		properties["action"] = ofType(a, objectIn(change, "action"))
	}
	now = maps.Clone(now)
	now["properties"] = properties
	return withNulls(applied(now, patch), patch)
}

// withNulls returns an object with null for the members that a patch has removed: a PUT refuses to lose some members
// that it does not name.
func withNulls(object, patch map[string]any) map[string]any {
	for name, value := range patch {
		below, isObject := object[name].(map[string]any)
		inner, _ := value.(map[string]any)
		switch {
		case value == nil:
			object[name] = nil
		case isObject:
			object[name] = withNulls(below, inner)
		}
	}
	return object
}

// losesMeaning reports whether a patch of a recurrence has another expression, or names nothing of what one means.
func losesMeaning(patch map[string]any) bool {
	if patch["cron"] != nil || patch["rrule"] != nil {
		return true
	}
	for _, member := range []string{"cron", "rrule", "frequency", "interval", "schedule"} {
		if _, named := patch[member]; named {
			return false
		}
	}
	return true
}

// parameters are the members with the parameters of each type of action.
var parameters = map[string]string{
	"http": "request", "https": "request", "storagequeue": "queueMessage",
	"servicebusqueue": "serviceBusQueueMessage", "servicebustopic": "serviceBusTopicMessage",
}

// ofType returns an action without the parameters that do not fit the type which a patch gives it.
func ofType(action, patch map[string]any) map[string]any {
	action = maps.Clone(action)
	to, _ := patch["type"].(string)
	if wanted := parameters[strings.ToLower(to)]; wanted != "" {
		for _, member := range parameters {
			if member != wanted {
				delete(action, member)
			}
		}
	}
	if below := objectIn(action, "errorAction"); below != nil {
		action["errorAction"] = ofType(below, objectIn(patch, "errorAction"))
	}
	return action
}

// objectIn returns a member that is an object; nil if it is none.
func objectIn(of map[string]any, member string) map[string]any {
	object, _ := of[member].(map[string]any)
	return object
}
