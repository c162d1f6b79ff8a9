package config

import (
	"net/http"

	"almanac/api"
	"almanac/api/responses"
	"almanac/internal/callers"
)

// Handler returns the API of a service, with its login pages. OpenDoor has been called.
func (c *Config) Handler(s api.Scheduler) http.Handler {
	o := api.Options{
		Log: c.Log, Build: c.Build, PublicURL: c.publicURL, CheckHost: c.Hosts.Check, Limits: &c.Limits, CheckTarget: c.checkTarget, WarnOfTarget: c.warnOfTarget,
		Observe: c.Telemetry.Requests(), Trace: c.Telemetry.Spans(), Metrics: c.Telemetry.Handler(), Callers: callers.NewLimiter(c.perCaller), Refusals: c.refusals,
		DefaultSubscription: DefaultSubscription, DefaultResourceGroup: DefaultResourceGroup,
	}
	if c.refusals != nil {
		c.Telemetry.AuditLines(c.refusals.Lost)
	}
	pages := c.protectAPI(&o)
	if c.access.hideResponses {
		s = responses.Hide(s, c.access.assignments)
	}
	h := api.New(s, o)
	if pages != nil {
		h = pages.Before(h, c.Hosts.Check)
	}
	return c.proxies.Resolve(h)
}
