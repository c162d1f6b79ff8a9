package input

import (
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"almanac/internal/fields"
	"almanac/job"
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
	"routingKey": {Allowed: wantRoutingKey, Valid: routingKey.MatchString},
	"address":    {Allowed: "a mail address such as team@example.com, without a name", Valid: isMailAddress},
}

// routingKey matches the keys of PagerDuty's documentation, "Send an Alert Event".
var routingKey = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)

func isMailAddress(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s && len(s) <= 254 && !strings.ContainsFunc(s, fields.IsBlankOrControl)
}

// postByDefault gives the requests of notifications the method POST if they have none.
func postByDefault(list *fields.Node) {
	if list == nil {
		return
	}
	for _, item := range append(list.Items, list) { // a single notification stands for a list
		request := item.Member("target").Member("request")
		if request != nil && request.Kind == fields.Object && request.Member("method") == nil {
			request.Remove("method")
			request.Entries = append(request.Entries, fields.Entry{Name: "method", Value: &fields.Node{Kind: fields.String, Text: "POST"}})
		}
	}
}

// notifications checks notifications whose list is at path. stored are those to be replaced.
func (p *parser) notifications(list []job.Notification, path string, stored []job.Notification) {
	if len(list) > maxNotifications {
		p.fail(path, fields.TooMany, fmt.Sprintf("at most %d notifications, not %d", maxNotifications, len(list)), "")
	}
	for _, e := range p.List { // such a notification is not in the list
		if strings.HasPrefix(e.Path, path) && strings.HasSuffix(e.Path, ".target.type") && e.Code == fields.Unsupported {
			e.Allowed = "Http, Https, StorageQueue, ServiceBusQueue, ServiceBusTopic, Email or PagerDuty"
		}
	}
	for i := range list {
		n, at := &list[i], p.BodyPath(fields.ItemPath(path, i))
		if n.Name != "" && slices.ContainsFunc(list[:i], func(o job.Notification) bool { return fields.SameName(o.Name, n.Name) }) {
			p.fail(at+".name", fields.Duplicate, "a name that no other notification of the list has", "")
		}
		p.conditions(n, at)
		p.target(&n.Target, at+".target")
		p.action(&n.Target, at+".target", &storedNotification(stored, n, i).Target)
	}
}

// conditions checks that the parameters of the events are there, and no others.
func (p *parser) conditions(n *job.Notification, at string) {
	if len(n.On) == 0 && !p.Has(at+".on") {
		p.fail(at+".on", fields.Required, "a list of one or more of failed, recovered, missed, late, disabled and quiet", "")
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

// target checks what a target may have, compared with an action.
func (p *parser) target(a *job.Action, path string) {
	own := func(member string, given bool) {
		if given {
			p.fail(path+"."+member, fields.Forbidden, "", "leave it out: Almanac writes what a notification says")
		}
	}
	if r := a.Request; r != nil {
		own("request.body", r.Body != "")
		own("request.template", r.Template)
		r.Body, r.Template = "", false
	}
	if m := a.QueueMessage; m != nil {
		own("queueMessage.message", m.Message != "")
		own("queueMessage.template", m.Template)
		m.Template = false
	}
	for name, m := range map[string]*job.ServiceBusMessage{"serviceBusQueueMessage": a.ServiceBusQueueMessage, "serviceBusTopicMessage": a.ServiceBusTopicMessage} {
		if m != nil {
			own(name+".message", m.Message != "")
			own(name+".template", m.Template)
			m.Template = false
		}
	}
	if a.ErrorAction != nil {
		p.fail(path+".errorAction", fields.Forbidden, "", "a notification has no error action")
		a.ErrorAction = nil
	}
	if a.Format != "" && a.Request == nil && a.Type != "" {
		p.fail(path+".format", fields.Forbidden, "", "only web requests have a format")
	}
	if a.Email != nil {
		p.addresses(a.Email, path+".email.to")
	}
	if d := a.PagerDuty; d != nil && d.URI != "" && !p.Has(path+".pagerDuty.uri") {
		p.addAt(path+".pagerDuty.uri", p.uri(&job.Request{URI: d.URI}, job.ActionHTTP))
	}
}

// addresses checks the number of a mail's addresses.
func (p *parser) addresses(e *job.Email, path string) {
	const most = 20
	switch n := len(e.To); {
	case p.Has(path):
	case n == 0:
		p.fail(path, fields.Required, "a list of mail addresses", "")
	case n > most:
		p.fail(path, fields.TooMany, fmt.Sprintf("at most %d addresses, not %d", most, n), "")
	}
}

// withoutNotification reports an action of a job whose type is one of notifications.
func (p *parser) withoutNotification(a *job.Action, path string) {
	withErrorAction(a, path, &job.Action{}, func(a *job.Action, path string, _ *job.Action) {
		if kind := a.Type.Kind(); kind == job.ActionEmail || kind == job.ActionPagerDuty {
			p.fail(path+".type", fields.Unsupported, fixedRules["actionType"].Allowed, string(kind)+" is for the targets of notifications")
			a.Type = ""
		}
	})
}

// storedNotification returns the stored notification that n, at index i, replaces: that of its name, or the one at the same
// place without a name. It is empty if there is none.
func storedNotification(stored []job.Notification, n *job.Notification, i int) *job.Notification {
	for k := range stored {
		if fields.SameName(stored[k].Name, n.Name) && (n.Name != "" || k == i) {
			return &stored[k]
		}
	}
	return &job.Notification{}
}

// keepSecrets fills in the secrets that the notifications leave out, as [KeepSecrets] does, and reports those that are missing.
func keepSecrets(list, stored []job.Notification, retarget bool, bad *fields.Errors) {
	for i := range list {
		old := storedNotification(stored, &list[i], i)
		keepActionSecrets(&list[i].Target, fields.ItemPath("properties.notifications", i)+".target", &old.Target, retarget, bad)
	}
}

// KeepCollectionSecrets returns c with the secrets of its notifications that it leaves out, taken from old, by the rules of
// [KeepSecrets], whose error it returns.
func KeepCollectionSecrets(c, old job.CollectionProperties, retarget bool) (job.CollectionProperties, error) {
	var bad fields.Errors
	c.Notifications = job.CloneNotifications(c.Notifications)
	keepSecrets(c.Notifications, old.Notifications, retarget, &bad)
	if len(bad.List) > 0 {
		return c, invalid("job collection", &bad)
	}
	return c, nil
}

// CheckNotifications returns an error that lists the targets which check refuses.
func CheckNotifications(what string, list []job.Notification, check func(*job.Action) error) error {
	if check == nil {
		return nil
	}
	var bad fields.Errors
	for i := range list {
		if err := check(&list[i].Target); err != nil {
			bad.Add(&job.FieldError{Path: fields.ItemPath("properties.notifications", i) + ".target", Code: fields.Forbidden, Hint: err.Error()})
		}
	}
	if len(bad.List) > 0 {
		return invalid(what, &bad)
	}
	return nil
}
