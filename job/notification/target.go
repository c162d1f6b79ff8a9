package notification

import (
	"almanac/job"
)

// TargetText describes a target for logs and records. The path of a web request is left out, since that of a webhook of Slack
// or Teams is its secret.
func TargetText(target *job.Action) string {
	r := target.Request
	if d := target.PagerDuty; d != nil {
		r = &job.Request{Method: "PagerDuty", URI: d.Address()}
	}
	if r == nil {
		return target.Text()
	}
	u, err := job.ParseURI(r.URI)
	if err != nil {
		return r.Method + " (a URI that cannot be read)"
	}
	text := r.Method + " " + u.Scheme + "://" + u.Host
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		text += "/…"
	}
	return text
}
