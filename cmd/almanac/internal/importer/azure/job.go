package azure

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/value"
)

// An origin says what is known of a job beside its properties.
type origin struct {
	exists    bool   // the service has it: its first run is past
	group     string // resource group; "" if it is not known
	terraform bool   // Terraform makes it, which always sends a startTime
}

// job adds a job. Its properties are rewritten so that they say what the service implied.
func (c *collector) job(name, properties *value.Value, line int, from origin) *importer.Draft {
	d := &importer.Draft{File: c.file.Name, Line: line}
	if len(c.result.Drafts) >= importer.MaxJobs {
		c.result.Problem(c.file.Name, line, fmt.Sprintf("the jobs from here on are left out, since there are more than %d", importer.MaxJobs))
		return d
	}
	c.result.Drafts = append(c.result.Drafts, d)
	d.From.Group = from.group
	c.name(d, name)
	if properties == nil || properties.Kind != value.Object {
		d.Say(importer.Needs, "", line, "properties: "+why(properties, "the job has none"))
		properties = value.Obj(line)
	}
	d.Properties = canonical(properties.Clone())
	if d.Properties.Get("action") == nil {
		d.Say(importer.Never, "action", line, "the job has no action")
		d.Properties = nil
		return d
	}
	for _, f := range d.Findings {
		if f.Path == "name" {
			d.Properties.Set("$needs", value.Needed(line, f.Text))
		}
	}
	r := rewriter{d: d, p: d.Properties, origin: from, now: c.o.Now.UTC().Truncate(time.Second)}
	r.rewrite()
	return d
}

func why(v *value.Value, otherwise string) string {
	if v != nil && len(v.Why) > 0 {
		return strings.Join(v.Why, "; ")
	}
	return otherwise
}

// name sets the collection and the name of a job from collection/job.
func (c *collector) name(d *importer.Draft, name *value.Value) {
	text, ok := name.Str()
	collection, own, both := strings.Cut(text, "/")
	if !both {
		collection, own = c.o.DefaultCollection(), text
	}
	if both {
		d.From.Name = collection
	}
	if c.o.Collection != "" {
		collection = c.o.Collection
	}
	d.Collection, d.Name = collection, own
	if !ok || own == "" || collection == "" {
		d.Collection = c.o.DefaultCollection()
		d.Name = c.names.Of("unnamed")
		d.Say(importer.Needs, "name", name.LineOr(d.Line), "the name of the job: "+why(name, "it has none"))
	}
}

// canonicalNames are the members of a job as the API writes them.
var canonicalNames = func() map[string]string {
	all := map[string]string{}
	for name := range strings.FieldsSeq(`startTime action recurrence state status type retryPolicy errorAction request queueMessage
		serviceBusQueueMessage serviceBusTopicMessage uri method headers body authentication username password pfx
		certificateThumbprint certificateExpiration certificateSubjectName certificateExpirationDate secret tenant audience clientId
		retryType retryInterval retryCount storageAccount queueName sasToken message topicPath namespace transportType sasKeyName
		sasKey brokeredMessageProperties customMessageProperties frequency interval count endTime timeZone schedule minutes hours
		weekDays monthDays monthlyOccurrences months day occurrence contentType correlationId forcePersistence label messageId
		partitionKey replyTo replyToSessionId scheduledEnqueueTimeUtc sessionId timeToLive to viaPartitionKey executionCount
		failureCount faultedCount lastExecutionTime nextExecutionTime`) {
		all[strings.ToLower(name)] = name
	}
	return all
}()

// canonical spells the names of members as the API does, and makes numbers of digits in quotes.
func canonical(v *value.Value) *value.Value {
	for i := range v.Members {
		m := &v.Members[i]
		if name, ok := canonicalNames[strings.ToLower(m.Name)]; ok {
			m.Name = name
		}
		switch m.Name {
		case "headers", "customMessageProperties":
			continue
		case "frequency", "weekDays", "day", "retryType":
			lower(m.Value)
		case "type", "transportType":
			if word, ok := canonicalWords[strings.ToLower(text(m.Value))]; ok {
				m.Value.Text = word
			}
		case "interval", "count", "retryCount", "minutes", "hours", "monthDays", "months", "occurrence":
			numbers(m.Value)
		}
		canonical(m.Value)
	}
	for _, item := range v.Items {
		canonical(item)
	}
	return v
}

// lower spells words in lower case.
func lower(v *value.Value) {
	if v.Kind == value.String {
		v.Text = strings.ToLower(v.Text)
	}
	for _, item := range v.Items {
		lower(item)
	}
}

// canonicalWords are words as the API writes them.
var canonicalWords = func() map[string]string {
	all := map[string]string{}
	for word := range strings.FieldsSeq("Http Https StorageQueue ServiceBusQueue ServiceBusTopic Basic ClientCertificate ActiveDirectoryOAuth sharedAccessKey notSpecified netMessaging amqp") {
		all[strings.ToLower(word)] = word
	}
	return all
}()

func numbers(v *value.Value) {
	if n, ok := v.Whole(); ok && v.Kind == value.String {
		v.Kind, v.Text = value.Number, strconv.Itoa(n)
	}
	for _, item := range v.Items {
		numbers(item)
	}
}

// A rewriter writes out what the service implied.
type rewriter struct {
	d      *importer.Draft
	p      *value.Value
	origin origin
	now    time.Time
	status *value.Value
}

func (r *rewriter) say(v importer.Verdict, path string, at *value.Value, text string) {
	r.d.Say(v, path, at.LineOr(r.d.Line), text)
}

func (r *rewriter) rewrite() {
	r.status = object(r.p.Get("status"))
	for _, name := range []string{"status", "id", "name", "type"} {
		r.p.Remove(name)
	}
	if len(r.status.Members) > 0 {
		r.origin.exists = true
	}
	r.authentications()
	r.retries()
	r.state()
	for _, name := range []string{"startTime"} {
		r.time(r.p, name, name)
	}
	recurrence := r.p.Get("recurrence")
	switch {
	case recurrence == nil:
		r.p.Remove("recurrence")
		r.once()
	case recurrence.Kind == value.Object:
		r.recurrence(recurrence)
	}
	r.order()
}

// order gives the members the order of the API.
func (r *rewriter) order() {
	o := value.Obj(r.p.Line)
	for _, name := range []string{"startTime", "action", "recurrence", "state"} {
		if v := r.p.Get(name); v != nil {
			o.Set(name, v)
			r.p.Remove(name)
		}
	}
	o.Members = append(o.Members, r.p.Members...)
	r.p, r.d.Properties = o, o
}

// authentications takes out what the service says of a client certificate, which is that of the file that is to be given,
// and an empty password, which stands for one that it does not show.
func (r *rewriter) authentications() {
	for _, path := range []string{"action", "action.errorAction"} {
		auth := r.p.Get(strings.Split(path, ".")...).Get("request", "authentication")
		if auth == nil || auth.Kind != value.Object {
			continue
		}
		if thumbprint, ok := auth.Get("certificateThumbprint").Str(); ok && auth.Get("pfx") == nil {
			auth.Set("pfx", value.Needed(auth.Line, "the source does not have it; it is the certificate with the thumbprint "+thumbprint[:min(len(thumbprint), 40)]))
		}
		if word, given := auth.Get("password").Str(); r.origin.exists && given && word == "" { // no answer has one
			auth.Remove("password")
		}
		for _, name := range []string{"certificateThumbprint", "certificateExpiration", "certificateExpirationDate", "certificateSubjectName"} {
			auth.Remove(name)
		}
	}
}

// retries writes out the retry policy: 4 retries, 30 s apart, in which the error action has a part.
func (r *rewriter) retries() {
	action := r.p.Get("action")
	if action.Kind != value.Object {
		return
	}
	misplaced := false
	for _, a := range []*value.Value{action, action.Get("errorAction")} {
		if request := a.Get("request"); request.Get("retryPolicy") != nil {
			r.say(importer.Same, "action.request.retryPolicy", request.Get("retryPolicy"),
				"a retryPolicy inside request has never had an effect, and is left out; the default was in force, 4 retries 30 s apart")
			request.Remove("retryPolicy")
			misplaced = true
		}
	}
	policy := action.Get("retryPolicy")
	if policy == nil {
		policy = value.Obj(action.Line)
		if !misplaced {
			r.say(importer.Same, "action.retryPolicy", action, "there is none, so the default of the service is written: 4 retries, 30 s apart")
		}
	}
	if policy.Kind == value.Object {
		action.Set("retryPolicy", fullPolicy(policy))
	}
	if e := action.Get("errorAction"); e != nil && e.Kind == value.Object && e.Get("retryPolicy") == nil && policy.Kind == value.Object {
		e.Set("retryPolicy", policy.Clone())
		r.say(importer.Same, "action.errorAction.retryPolicy", e, "that of the action is written, which the service applied to both")
	}
}

func fullPolicy(p *value.Value) *value.Value {
	if p.Get("retryType").Is("none") {
		p.Remove("retryInterval")
		p.Remove("retryCount")
		return p.Set("retryType", value.Text("none", p.Line))
	}
	if p.Get("retryType") == nil || p.Get("retryType").Is("fixed") {
		p.Set("retryType", value.Text("fixed", p.Line))
	}
	if p.Get("retryInterval") == nil {
		p.Set("retryInterval", value.Text("00:00:30", p.Line))
	}
	if p.Get("retryCount") == nil {
		p.Set("retryCount", value.Int(4, p.Line))
	}
	return p
}

// state writes out the state.
func (r *rewriter) state() {
	s := r.p.Get("state")
	switch word, _ := s.Str(); strings.ToLower(word) {
	case "":
		if s == nil || s.Kind != value.Unknown {
			r.p.Set("state", value.Text("enabled", s.LineOr(r.d.Line)))
		}
	case "enabled", "disabled":
		r.p.Set("state", value.Text(strings.ToLower(word), s.Line))
	case "completed", "faulted":
		r.origin.exists = true
		r.p.Set("state", value.Text("disabled", s.Line))
		r.say(importer.Same, "state", s, "the job had ended ("+strings.ToLower(word)+"), so it is written as disabled")
	}
}
