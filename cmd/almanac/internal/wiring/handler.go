package wiring

import (
	"net/http"
	"strings"

	"almanac/api"
	"almanac/cmd/almanac/internal/settings"
	"almanac/internal/ratelimit"
)

// Handler returns the API of a service, with its login pages.
func (p *Process) Handler(s api.Scheduler) http.Handler {
	o := api.Options{
		Log: p.Log, Build: p.Build, PublicURL: p.PublicURL, CheckHost: p.Hosts.Check, Limits: &p.Limits, CheckTarget: p.checkTarget, WarnOfTarget: p.warnOfTarget,
		Observe: p.Telemetry.Requests(), Trace: p.Telemetry.Spans(), Metrics: p.Telemetry.Handler(), Callers: ratelimit.NewLimiter(p.PerCaller), Refusals: p.Refusals,
		DefaultSubscription: settings.DefaultSubscription, DefaultResourceGroup: settings.DefaultResourceGroup,
		HideResponses: p.Access.HideResponses,
	}
	if p.Refusals != nil {
		p.Telemetry.AuditLines(p.Refusals.Lost)
	}
	pages := p.protectAPI(&o)
	h := api.New(s, o)
	shown := p.console(h, &o, pages != nil)
	if pages != nil {
		h = pages.Before(h, p.Hosts.Check)
	}
	if shown != nil {
		h = shown.Before(h)
	}
	return p.Proxies.Resolve(h)
}

// LinkBase returns the beginning of links to the API, without a slash at its end; "" if it is not known.
func (p *Process) LinkBase() string {
	if p.PublicURL == nil {
		return ""
	}
	return strings.TrimSuffix(p.PublicURL.String(), "/")
}
