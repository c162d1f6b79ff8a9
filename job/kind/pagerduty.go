package kind

import (
	"cmp"
	"regexp"

	"almanac/internal/fields"
)

// PagerDuty is an integration of a service of PagerDuty. RoutingKey is a secret.
type PagerDuty struct {
	RoutingKey string `json:"routingKey,omitempty" field:"secret,rule=routingKey"`
	URI        string `json:"uri,omitempty" field:"rule=uri"` // of the Events API v2
}

// pagerDutyURI is the address of the Events API v2 in PagerDuty's documentation, "Send an Alert Event".
const pagerDutyURI = "https://events.pagerduty.com/v2/enqueue"

const wantRoutingKey = "the integration key of a service of PagerDuty with the Events API v2: 32 letters and digits"

// routingKey matches the keys of PagerDuty's documentation, "Send an Alert Event".
var routingKey = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)

func (p *PagerDuty) rules(Limits) map[string]fields.Rule {
	return map[string]fields.Rule{"routingKey": {Allowed: wantRoutingKey, Valid: routingKey.MatchString}}
}

// Address returns the URI to which events are posted.
func (p *PagerDuty) Address() string { return cmp.Or(p.URI, pagerDutyURI) }

// Text implements [Parameters].
func (p *PagerDuty) Text() string { return withoutPath("PagerDuty", p.Address()) }

func (p *PagerDuty) copied() Parameters { return cloned(p) }

// Check implements [Parameters].
func (p *PagerDuty) Check(c *Checker) {
	if p.URI != "" && !c.Has("uri") {
		c.Add("uri", c.uri(p.URI))
	}
}

// Secrets implements [Parameters].
func (p *PagerDuty) Secrets(old Parameters) []Secret {
	s := Secret{Path: "routingKey", Value: &p.RoutingKey, Allowed: wantRoutingKey}
	if was, _ := old.(*PagerDuty); was != nil {
		s.Stored, s.Kept.Identity = was.RoutingKey, true
		s.Kept.move("scheme, host or port of uri", origin(p.Address()), origin(was.Address()))
	}
	return []Secret{s}
}
