package input

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/kind"
)

// maxNotifications is the maximum number of notifications of a job, and of a collection.
const maxNotifications = 10

// notificationRules are the rules of the fields of notifications.
var notificationRules = map[string]fields.Rule{
	"lateBy": durationRule(time.Second, 31*day),
	"within": durationRule(time.Minute, eighteenMonths),
	"notificationName": {Allowed: "1 to 64 characters, none of them a control character", Valid: func(s string) bool {
		return s != "" && utf8.RuneCountInString(s) <= 64 && !strings.ContainsFunc(s, unicode.IsControl)
	}},
	"targetType": typeRule(kind.TargetTypes()),
}

// prepareTargets sets the defaults of the targets of notifications, and reports and removes what only actions have.
func (p *parser) prepareTargets(list *fields.Node, path string) {
	if list == nil {
		return
	}
	prepare := func(notification *fields.Node, path string) {
		target := notification.Member("target")
		kind.PostByDefault(target)
		if a := target.Member("errorAction"); a != nil {
			p.fail(path+".target.errorAction", fields.Forbidden, "", "a notification has no error action")
			target.Remove("errorAction")
		}
	}
	prepare(list, path) // a single notification stands for a list
	for i, item := range list.Items {
		prepare(item, fields.ItemPath(path, i))
	}
}

// notifications checks notifications whose list is at path. stored are those to be replaced.
func (p *parser) notifications(list []job.Notification, path string, stored []job.Notification) {
	if len(list) > maxNotifications {
		p.fail(path, fields.TooMany, fmt.Sprintf("at most %d notifications, not %d", maxNotifications, len(list)), "")
	}
	for i := range list {
		n, at := &list[i], p.BodyPath(fields.ItemPath(path, i))
		if n.Name != "" && slices.ContainsFunc(list[:i], func(o job.Notification) bool { return fields.SameName(o.Name, n.Name) }) {
			p.fail(at+".name", fields.Duplicate, "a name that no other notification of the list has", "")
		}
		p.conditions(n, at)
		p.target(&n.Target, at+".target", &storedNotification(stored, n, i).Target)
	}
}

// conditions checks that the parameters of the events are there, and no others.
func (p *parser) conditions(n *job.Notification, at string) {
	if len(n.On) == 0 && !p.Has(at+".on") {
		p.fail(at+".on", fields.Required, "a list of one or more of failed, recovered, missed, late, disabled, quiet and horizon", "")
	}
	for _, c := range []struct {
		name, of string
		events   []job.Event
		given    bool
		required bool
	}{
		{"after", "failed or recovered", []job.Event{job.EventFailed, job.EventRecovered}, n.After != 0, false},
		{"lateBy", "late", []job.Event{job.EventLate}, n.LateBy != "", true},
		{"within", "quiet", []job.Event{job.EventQuiet}, n.Within != "", true},
	} {
		wanted := slices.ContainsFunc(c.events, func(e job.Event) bool { return slices.Contains(n.On, e) })
		switch path := at + "." + c.name; {
		case p.Has(path), p.Has(at + ".on"):
		case wanted && c.required && !c.given:
			p.fail(path, fields.Required, "a duration such as PT1M", "on has "+c.of)
		case !wanted && c.given:
			p.fail(path, fields.Forbidden, "", "on must have "+c.of)
		}
	}
}

// target checks a target, which replaces stored.
func (p *parser) target(t *job.Target, path string, stored *job.Target) {
	at := placeOfTarget(t, path, stored)
	for _, part := range at.parts {
		if a, ok := part.Parameters.(kind.ActionParameters); ok {
			a.Target(p.checker(&at, part.Name))
		}
	}
	if t.Format != "" && t.Request == nil && t.Type != "" {
		p.fail(path+".format", fields.Forbidden, "", "only web requests have a format")
	}
	p.parameters(&at)
	p.check(&at)
	p.secrets([]place{placeOfTarget(t, path, stored)})
}

// withoutTarget reports an action of a job whose type is one of targets only.
func (p *parser) withoutTarget(a *job.Action, path string) {
	for _, e := range p.List {
		for _, at := range placesOf(a, path, &job.Action{}) {
			name, _ := e.Value.(string)
			if t := kind.Type(name).Kind(); e.Path == at.path+".type" && t != "" {
				e.Value, e.Hint = nil, string(t)+" is for the targets of notifications"
			}
		}
	}
}

// storedNotification returns the stored notification that n, at index i, replaces: that of its name, or the one at the
// same place without a name. It is empty if there is none.
func storedNotification(stored []job.Notification, n *job.Notification, i int) *job.Notification {
	for k := range stored {
		if fields.SameName(stored[k].Name, n.Name) && (n.Name != "" || k == i) {
			return &stored[k]
		}
	}
	return &job.Notification{}
}

// CheckNotifications returns an error that lists the targets which check refuses.
func CheckNotifications(what string, list []job.Notification, check CheckTarget) error {
	if check == nil {
		return nil
	}
	var bad fields.Errors
	for i := range list {
		t := &list[i].Target
		for _, part := range t.Parts() {
			if err := check(t.Type, part.Parameters); err != nil {
				path := fields.ItemPath("properties.notifications", i) + ".target"
				bad.Add(&job.FieldError{Path: path, Code: fields.Forbidden, Hint: err.Error()})
			}
		}
	}
	if len(bad.List) > 0 {
		return invalid(what, &bad)
	}
	return nil
}
