package azure

import (
	"fmt"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/value"
)

// The arguments of azurerm_scheduler_job and its blocks, and of azurerm_scheduler_job_collection.
var (
	jobArguments = words(`name resource_group_name job_collection_name action_web action_storage_queue error_action_web
		error_action_storage_queue retry recurrence start_time state id timeouts depends_on lifecycle provider count for_each provisioner connection`)
	webArguments        = words(`url method body headers authentication_basic authentication_certificate authentication_active_directory`)
	queueArguments      = words(`storage_account_name storage_queue_name sas_token message`)
	retryArguments      = words(`interval count`)
	recurrenceArguments = words(`frequency interval count end_time minutes hours week_days month_days monthly_occurrences`)
)

func words(text string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		all[w] = true
	}
	return all
}

// A terraformReader makes the properties of a job of its arguments, as the provider does.
type terraformReader struct {
	d      *importer.Draft
	config bool // of a configuration, and not of a state
	wrong  []importer.Finding
}

// terraformJob adds a job of Terraform.
func (c *collector) terraformJob(a *value.Value, line int, config bool) *importer.Draft {
	r := terraformReader{config: config}
	r.known("", a, jobArguments)
	p := value.Obj(line)
	p.Set("action", r.action(a, line))
	if v := a.Get("start_time"); v != nil && !empty0(v) {
		p.Set("startTime", r.moment("start_time", v))
	}
	if block := r.block(a, "recurrence"); block != nil {
		p.Set("recurrence", r.recurrence(block))
	}
	if v := a.Get("state"); v != nil && !empty0(v) {
		p.Set("state", v)
	}
	name := r.name(a, line)
	if !config {
		if id := strings.Split(text(a.Get("id")), "/"); len(id) == 11 {
			name = value.Text(id[8]+"/"+id[10], line)
		}
	}
	d := c.job(name, p, line, origin{exists: !config, group: text(a.Get("resource_group_name")), terraform: config && p.Get("recurrence") != nil})
	r.d = d
	for _, f := range r.wrong {
		d.Say(f.Verdict, f.Path, f.Line, f.Text)
	}
	return d
}

// empty0 reports whether a value of a state says that there is none.
func empty0(v *value.Value) bool {
	return v.Kind == value.Null || v.Kind == value.String && v.Text == "" || v.Kind == value.List && len(v.Items) == 0
}

func (r *terraformReader) never(path string, at *value.Value, text string) {
	r.wrong = append(r.wrong, importer.Finding{Verdict: importer.Never, Path: path, Line: at.LineOr(0), Text: text})
}

// known reports the arguments that the provider does not have. Those of a state that a newer provider has are left out.
func (r *terraformReader) known(path string, a *value.Value, names map[string]bool) {
	if !r.config {
		return
	}
	for _, m := range a.Members {
		if !names[m.Name] {
			r.never(value.Join(path, short(m.Name)), m.Value, "the provider has no argument or block of this name here, so Terraform refuses it")
		}
	}
}

func short(name string) string { return name[:min(len(name), 40)] }

// block returns the only block of a name; nil if there is none.
func (r *terraformReader) block(a *value.Value, name string) *value.Value {
	v := a.Get(name)
	switch {
	case v == nil || empty0(v):
		return nil
	case v.Kind != value.List:
		return v
	case len(v.Items) > 1:
		r.never(name, v.Items[1], fmt.Sprintf("there are %d blocks of this name, and Terraform takes one: write a job for each", len(v.Items)))
	}
	return v.Items[0]
}

func (r *terraformReader) name(a *value.Value, line int) *value.Value {
	collection, name := a.Get("job_collection_name"), a.Get("name")
	for _, v := range []*value.Value{collection, name} {
		if v != nil && v.Kind == value.Unknown {
			return value.Needed(v.LineOr(line), v.Why...)
		}
	}
	if collection == nil || name == nil {
		return value.Needed(line, "name and job_collection_name are required")
	}
	return value.Text(text(collection)+"/"+text(name), line)
}

// moment returns a time, which the provider takes in RFC 3339 only.
func (r *terraformReader) moment(path string, v *value.Value) *value.Value {
	s, ok := v.Str()
	if !ok {
		return v
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		r.never(path, v, "it is no date and time such as 2026-01-31T08:30:00Z, so Terraform refuses it")
		return value.Text(importer.AnyPast, v.Line)
	}
	return value.Text(t.UTC().Format(time.RFC3339Nano), v.Line)
}

// action returns the action with its error action and its retry policy.
func (r *terraformReader) action(a *value.Value, line int) *value.Value {
	action := r.one(a, "", line)
	if action == nil {
		r.never("action", a, "there is no block action_web or action_storage_queue, of which Terraform requires one")
		return value.Needed(line, "the action")
	}
	retry := value.Obj(line).Set("retryType", value.Text("none", line))
	if block := r.block(a, "retry"); block != nil {
		r.known("retry", block, retryArguments)
		retry = value.Obj(block.Line).Set("retryType", value.Text("fixed", block.Line))
		retry.Set("retryInterval", or0(block.Get("interval"), value.Text("00:00:30", block.Line)))
		retry.Set("retryCount", or0(block.Get("count"), value.Int(4, block.Line)))
	}
	if action.Kind == value.Unknown {
		return action
	}
	action.Set("retryPolicy", retry)
	if e := r.one(a, "error_", line); e != nil {
		action.Set("errorAction", e)
	}
	return action
}

func or0(v, otherwise *value.Value) *value.Value {
	if v == nil || empty0(v) {
		return otherwise
	}
	return v
}

// one returns an action or an error action; nil if there is none.
func (r *terraformReader) one(a *value.Value, prefix string, line int) *value.Value {
	if block := r.block(a, prefix+"action_web"); block != nil && block.Kind == value.Unknown {
		return block
	} else if block != nil {
		return r.web(block, prefix+"action_web")
	}
	block := r.block(a, prefix+"action_storage_queue")
	if block == nil || block.Kind == value.Unknown {
		return block
	}
	r.known(prefix+"action_storage_queue", block, queueArguments)
	m := value.Obj(block.LineOr(line))
	for _, names := range [][2]string{
		{"storage_account_name", "storageAccount"}, {"storage_queue_name", "queueName"}, {"sas_token", "sasToken"}, {"message", "message"},
	} {
		if v := block.Get(names[0]); v != nil {
			m.Set(names[1], v)
		}
	}
	return value.Obj(m.Line).Set("type", value.Text("StorageQueue", m.Line)).Set("queueMessage", m)
}

// web returns a web request. The provider's documentation calls GET the default of its method.
func (r *terraformReader) web(block *value.Value, path string) *value.Value {
	r.known(path, block, webArguments)
	q := value.Obj(block.Line)
	url := block.Get("url")
	if url != nil {
		q.Set("uri", url)
	}
	if m := block.Get("method"); m == nil || empty0(m) {
		r.wrong = append(r.wrong, importer.Finding{Path: "action.request.method", Line: block.Line,
			Text: "there is none, so GET is written, which the documentation of the provider calls the default"})
	}
	q.Set("method", or0(block.Get("method"), value.Text("GET", block.Line)))
	if h := r.block(block, "headers"); h != nil && h.Kind == value.Object && len(h.Members) > 0 {
		q.Set("headers", h)
	} else if h != nil && h.Kind == value.Unknown {
		q.Set("headers", h)
	}
	if b := block.Get("body"); b != nil && !empty0(b) {
		q.Set("body", b)
	}
	if auth := r.authentication(block); auth != nil {
		q.Set("authentication", auth)
	}
	kind := "Http"
	if s, _ := url.Str(); strings.HasPrefix(strings.ToLower(s), "https://") {
		kind = "Https"
	}
	return value.Obj(block.Line).Set("type", value.Text(kind, block.Line)).Set("request", q)
}

func (r *terraformReader) authentication(block *value.Value) *value.Value {
	for _, kind := range []struct {
		block, name string
		members     [][2]string
	}{
		{"authentication_basic", "Basic", [][2]string{{"username", "username"}, {"password", "password"}}},
		{"authentication_certificate", "ClientCertificate", [][2]string{{"pfx", "pfx"}, {"password", "password"}, {"thumbprint", "certificateThumbprint"}}},
		{"authentication_active_directory", "ActiveDirectoryOAuth", [][2]string{
			{"tenant_id", "tenant"}, {"client_id", "clientId"}, {"secret", "secret"}, {"client_secret", "secret"}, {"audience", "audience"},
		}},
	} {
		inner := r.block(block, kind.block)
		if inner == nil {
			continue
		}
		auth := value.Obj(inner.Line).Set("type", value.Text(kind.name, inner.Line))
		for _, names := range kind.members {
			if v := inner.Get(names[0]); v != nil && !empty0(v) {
				auth.Set(names[1], v)
			}
		}
		if kind.name == "ActiveDirectoryOAuth" && auth.Get("audience") == nil {
			auth.Set("audience", value.Text("https://management.core.windows.net/", inner.Line))
			r.wrong = append(r.wrong, importer.Finding{Path: "action.request.authentication.audience", Line: inner.Line,
				Text: "there is none, so the one that the provider takes in Azure's public cloud is written"})
		}
		return auth
	}
	return nil
}

// recurrence returns a recurrence.
func (r *terraformReader) recurrence(block *value.Value) *value.Value {
	if block.Kind != value.Object {
		return block
	}
	r.known("recurrence", block, recurrenceArguments)
	v := value.Obj(block.Line)
	if f := block.Get("frequency"); f != nil {
		v.Set("frequency", f)
		if s, ok := f.Str(); ok && !frequencies[strings.ToLower(s)] {
			r.never("recurrence.frequency", f, "Terraform takes Minute, Hour, Day, Week and Month")
		}
	}
	v.Set("interval", or0(block.Get("interval"), value.Int(1, block.Line)))
	if n := block.Get("count"); n != nil && !empty0(n) && !n.Is("0") {
		v.Set("count", n)
	}
	if e := block.Get("end_time"); e != nil && !empty0(e) {
		v.Set("endTime", r.moment("recurrence.end_time", e))
	}
	s := value.Obj(block.Line)
	for _, names := range [][2]string{{"minutes", "minutes"}, {"hours", "hours"}, {"week_days", "weekDays"}, {"month_days", "monthDays"}, {"monthly_occurrences", "monthlyOccurrences"}} {
		if m := block.Get(names[0]); m != nil && !empty0(m) {
			s.Set(names[1], m)
		}
	}
	if len(s.Members) > 0 {
		v.Set("schedule", s)
	}
	return v
}

var frequencies = words("minute hour day week month")

// terraformCollection adds a job collection of Terraform.
func (c *collector) terraformCollection(a *value.Value, line int) {
	p := value.Obj(line)
	if sku := a.Get("sku"); sku != nil {
		p.Set("sku", value.Obj(sku.Line).Set("name", sku))
	}
	if s := a.Get("state"); s != nil && !empty0(s) {
		p.Set("state", s)
	}
	if list := a.Get("quota"); list != nil && !empty0(list) {
		block := list
		if list.Kind == value.List {
			block = list.Items[0]
		}
		quota := value.Obj(block.Line)
		if n := block.Get("max_job_count"); n != nil && !empty0(n) && !n.Is("0") {
			quota.Set("maxJobCount", n)
		}
		if f := block.Get("max_recurrence_frequency"); f != nil && !empty0(f) {
			m := value.Obj(f.Line).Set("frequency", f)
			if n := block.Get("max_recurrence_interval"); n != nil && !empty0(n) {
				m.Set("interval", n)
			}
			quota.Set("maxRecurrence", m)
		}
		p.Set("quota", quota)
	}
	c.collection(text(a.Get("resource_group_name")), text(a.Get("name")), a.Get("location"), a.Get("tags"), p, line)
}
