package azure

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/value"
)

// powerShell reads what Get-AzureRmSchedulerJob prints, as ConvertTo-Json writes it. It lacks the schedule, the retry
// policy and the secrets.
func (c *collector) powerShell(doc *value.Value) {
	line := doc.LineOr(1)
	p := value.Obj(line)
	if at := powerShellTime(doc.Get("StartTime")); at != nil {
		p.Set("startTime", at)
	}
	action := powerShellAction(doc.Get("JobAction"), line)
	if action.Kind == value.Object {
		if e := doc.Get("JobErrorAction"); e != nil {
			action.Set("errorAction", powerShellAction(e, line))
		}
	}
	p.Set("action", action)
	if r := powerShellRecurrence(doc, line); r != nil {
		p.Set("recurrence", r)
	}
	if s := doc.Get("Status"); s != nil {
		p.Set("state", powerShellState(s))
	}
	status := value.Obj(line)
	if next := powerShellTime(doc.Get("Nextrun")); next != nil {
		status.Set("nextExecutionTime", next)
	}
	if n := doc.Get("Executions"); n != nil {
		status.Set("executionCount", n)
	}
	p.Set("status", status)
	name := value.Text(text(doc.Get("JobCollectionName"))+"/"+text(doc.Get("JobName")), line)
	d := c.job(name, p, line, origin{exists: true, group: text(doc.Get("ResourceGroupName"))})
	// The service took a schedule with these only.
	f := d.Properties.Get("recurrence", "frequency")
	if f.Is("day") || f.Is("week") || f.Is("month") {
		d.Properties.Get("recurrence").Set("schedule", value.Needed(line, "PowerShell does not print the schedule: give it, or take it out if there is none"))
	}
	if a := d.Properties.Get("action"); a != nil && a.Kind == value.Object {
		a.Set("retryPolicy", value.Needed(line, "PowerShell does not print the retry policy: give it, or take it out for the default, 4 retries 30 s apart"))
		a.Get("errorAction").Remove("retryPolicy")
		d.Findings = without(d.Findings, "retryPolicy")
	}
}

func without(all []importer.Finding, path string) (kept []importer.Finding) {
	for _, f := range all {
		if !strings.Contains(f.Path, path) {
			kept = append(kept, f)
		}
	}
	return kept
}

var msDate = regexp.MustCompile(`^\\?/Date\((-?\d+)([+-]\d{4})?\)\\?/$`)

// powerShellTime returns a time, which PowerShell 5 writes as /Date(milliseconds)/, in the form of the API.
func powerShellTime(v *value.Value) *value.Value {
	if inner := v.Get("value"); inner != nil { // of an extended object
		v = inner
	}
	s, ok := v.Str()
	if !ok {
		return nil
	}
	if found := msDate.FindStringSubmatch(s); found != nil {
		ms, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil {
			return value.Needed(v.Line, "a time that cannot be read")
		}
		return value.Text(time.UnixMilli(ms).UTC().Format(time.RFC3339Nano), v.Line)
	}
	if t, err := parseTime(s); err == nil {
		return value.Text(t.Format(time.RFC3339Nano), v.Line)
	}
	return value.Needed(v.Line, "a time that cannot be read: write it as 2026-01-31T08:30:00Z")
}

var powerShellStates = []string{"enabled", "disabled", "faulted", "completed"}

func powerShellState(v *value.Value) *value.Value {
	if n, ok := v.Whole(); ok && n >= 0 && n < len(powerShellStates) {
		return value.Text(powerShellStates[n], v.Line)
	}
	return v
}

var (
	everyText = regexp.MustCompile(`(?i)^Every (\d+) (minute|hour|day|week|month)s?$`)
	countText = regexp.MustCompile(`(?i)Until (\d+) executions`)
	endText   = regexp.MustCompile(`(?i)on ([0-9][^.]*?)( whichever|\.|$)`)
)

// powerShellRecurrence reads texts such as "Every 1 Hours" and "Until 10 executions."; nil for a job that runs once.
func powerShellRecurrence(doc *value.Value, line int) *value.Value {
	s, ok := doc.Get("Recurrence").Str()
	if !ok || s == "" {
		return nil
	}
	found := everyText.FindStringSubmatch(s)
	if found == nil {
		return value.Needed(doc.Get("Recurrence").Line, "the recurrence, whose text cannot be read")
	}
	n, _ := strconv.Atoi(found[1])
	r := value.Obj(line).Set("frequency", value.Text(strings.ToLower(found[2]), line)).Set("interval", value.Int(n, line))
	end := doc.Get("EndSchedule")
	endSchedule, _ := end.Str()
	if c := countText.FindStringSubmatch(endSchedule); c != nil {
		n, _ := strconv.Atoi(c[1])
		r.Set("count", value.Int(n, end.Line))
	}
	if e := endText.FindStringSubmatch(endSchedule); e != nil {
		r.Set("endTime", value.Needed(end.Line, "the endTime, which PowerShell prints in the form of a country"))
	}
	return r
}

var powerShellTypes = []string{"Http", "Https", "StorageQueue", "ServiceBusQueue", "ServiceBusTopic"}

// powerShellAction reads the details of an action.
func powerShellAction(v *value.Value, line int) *value.Value {
	if v == nil || v.Kind != value.Object {
		return value.Needed(line, "the action, which is cut off: use ConvertTo-Json -Depth 10")
	}
	kind, _ := v.Get("JobActionType").Str()
	if n, ok := v.Get("JobActionType").Whole(); ok && n >= 0 && n < len(powerShellTypes) {
		kind = powerShellTypes[n]
	}
	a := value.Obj(v.Line).Set("type", value.Text(kind, v.Line))
	copies := func(to *value.Value, names ...string) *value.Value {
		for i := 0; i < len(names); i += 2 {
			if m := v.Get(names[i]); m != nil {
				to.Set(names[i+1], m)
			}
		}
		return to
	}
	switch strings.ToLower(kind) {
	case "http", "https":
		r := copies(value.Obj(v.Line), "Uri", "uri", "RequestMethod", "method", "RequestBody", "body")
		if h := v.Get("RequestHeaders"); h != nil && h.Kind == value.Object {
			r.Set("headers", h)
		} else if h != nil {
			r.Set("headers", value.Needed(h.Line, "the headers, which are cut off: use ConvertTo-Json -Depth 10"))
		}
		if auth := powerShellAuth(v.Get("HttpJobAuthentication")); auth != nil {
			r.Set("authentication", auth)
		}
		a.Set("request", r)
	case "storagequeue":
		a.Set("queueMessage", copies(value.Obj(v.Line), "StorageAccount", "storageAccount", "StorageQueueName", "queueName",
			"StorageSasToken", "sasToken", "StorageQueueMessage", "message"))
	case "servicebusqueue", "servicebustopic":
		m := copies(value.Obj(v.Line), "ServiceBusQueueName", "queueName", "ServiceBusTopicPath", "topicPath", "ServiceBusNamespaceProperty",
			"namespace", "ServiceBusTransportType", "transportType", "ServiceBusMessage", "message")
		if auth := v.Get("ServiceBusAuthentication"); auth != nil && auth.Kind == value.Object {
			m.Set("authentication", value.Obj(auth.Line).Set("type", value.Text("SharedAccessKey", auth.Line)).
				Set("sasKeyName", value.Text(text(auth.Get("SasKeyName")), auth.Line)))
		}
		name := map[string]string{"servicebusqueue": "serviceBusQueueMessage", "servicebustopic": "serviceBusTopicMessage"}[strings.ToLower(kind)]
		a.Set(name, m)
	}
	return a
}

func powerShellAuth(v *value.Value) *value.Value {
	if v == nil {
		return nil
	}
	if v.Kind != value.Object {
		return value.Needed(v.Line, "the authentication, which is cut off: use ConvertTo-Json -Depth 10")
	}
	kind, _ := v.Get("HttpAuthType").Str()
	if kind == "" || strings.EqualFold(kind, "none") {
		return nil
	}
	auth := value.Obj(v.Line).Set("type", value.Text(kind, v.Line))
	for _, names := range [][2]string{
		{"Username", "username"}, {"Tenant", "tenant"}, {"Audience", "audience"}, {"ClientId", "clientId"}, {"ClientCertThumbprint", "certificateThumbprint"},
	} {
		if m := v.Get(names[0]); m != nil {
			auth.Set(names[1], m)
		}
	}
	return auth
}
