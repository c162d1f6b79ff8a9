package config

import (
	"net/http"
	"strings"

	"almanac/api"
	"almanac/internal/callers"
)

// Handler returns the API of a service, with its login pages. OpenDoor has been called.
func (c *Config) Handler(s api.Scheduler) http.Handler {
	o := api.Options{
		Log: c.Log, Build: c.Build, PublicURL: c.publicURL, CheckHost: c.Hosts.Check, Limits: &c.Limits, CheckTarget: c.checkTarget, WarnOfTarget: c.warnOfTarget,
		Observe: c.Telemetry.Requests(), Trace: c.Telemetry.Spans(), Metrics: c.Telemetry.Handler(), Callers: callers.NewLimiter(c.perCaller), Refusals: c.refusals,
		DefaultSubscription: DefaultSubscription, DefaultResourceGroup: DefaultResourceGroup,
		HideResponses: c.access.hideResponses,
	}
	if c.refusals != nil {
		c.Telemetry.AuditLines(c.refusals.Lost)
	}
	pages := c.protectAPI(&o)
	h := api.New(s, o)
	if pages != nil {
		h = pages.Before(h, c.Hosts.Check)
	}
	return c.proxies.Resolve(h)
}

// LinkBase returns the beginning of links to the API, without a slash at its end; "" if it is not known.
func (c *Config) LinkBase() string {
	if c.publicURL == nil {
		return ""
	}
	return strings.TrimSuffix(c.publicURL.String(), "/")
}
