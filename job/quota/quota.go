// Package quota has the limits that a collection's plan and quota set for its jobs, and what a job requires of
// them. It is pure.
package quota

import (
	"cmp"
	"fmt"
	"time"

	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/timetable"
)

// Requirements are what a job requires its collection to allow.
type Requirements struct {
	// minimum time between two occurrences; 0 for a job that runs once
	Spacing       time.Duration `json:"s,omitempty"`
	Authenticates bool          `json:"auth,omitempty"` // a request of its action or error action has an authentication
}

// RequirementsOf returns what a valid definition requires. created is the time of the job's creation, from which a
// recurrence without a start time counts. Its calendars play no part.
func RequirementsOf(d *job.Definition, created time.Time) Requirements {
	requirements := Requirements{Authenticates: authenticates(&d.Action)}
	if plan, err := timetable.NominalTimes(d, created, nil); err == nil {
		requirements.Spacing = plan.Spacing()
	}
	return requirements
}

// authenticates reports whether a request of the action or its error action has an authentication.
func authenticates(a *job.Action) bool {
	return a.Request != nil && a.Request.Authentication != nil || a.ErrorAction != nil && authenticates(a.ErrorAction)
}

// And returns the requirements of both.
func (d Requirements) And(o Requirements) Requirements {
	spacing := cmp.Or(d.Spacing, o.Spacing)
	if o.Spacing > 0 {
		spacing = min(spacing, o.Spacing)
	}
	return Requirements{Spacing: spacing, Authenticates: d.Authenticates || o.Authenticates}
}

// A Tier holds the limits of a SKU. In texts for users it is a plan.
type Tier struct {
	Jobs int `json:"jobs" field:"min=1,max=10000,quoted"` // maximum in a collection
	// minimum time between two occurrences of a job
	MinRecurrence time.Duration `json:"minRecurrence" field:"rule=minRecurrence"`
	Collections   int           `json:"collections" field:"min=1,max=10000,quoted"` // maximum in a subscription
	// whether requests may authenticate
	Authentication bool `json:"authentication"`
}

// Tiers are the plans, by SKU name.
type Tiers map[string]Tier

// LimitsOf returns what a collection allows.
func (t Tiers) LimitsOf(p *job.CollectionProperties) Limits { return LimitsOf(p, t[p.SKU.Name]) }

// Limits are what a collection allows: its tier, lowered by its quota.
type Limits struct {
	Plan           string        `json:"plan"`           // SKU name
	Jobs           int           `json:"jobs"`           // maximum in the collection
	MinRecurrence  time.Duration `json:"minRecurrence"`  // minimum time between two occurrences of a job
	Authentication bool          `json:"auth,omitempty"` // whether requests may authenticate
	Collections    int           `json:"collections"`    // maximum in a subscription, with this plan
}

// LimitsOf returns what a collection allows whose SKU has this tier. A quota above the tier has no effect.
func LimitsOf(p *job.CollectionProperties, tier Tier) Limits {
	r := Limits{
		Plan: p.SKU.Name, Jobs: tier.Jobs, MinRecurrence: tier.MinRecurrence,
		Authentication: tier.Authentication, Collections: tier.Collections,
	}
	if p.Quota == nil {
		return r
	}
	if p.Quota.MaxJobCount > 0 {
		r.Jobs = min(r.Jobs, p.Quota.MaxJobCount)
	}
	if p.Quota.MaxRecurrence != nil {
		r.MinRecurrence = max(r.MinRecurrence, p.Quota.MaxRecurrence.Duration())
	}
	return r
}

// RefusesJob returns why the collection refuses a job with these requirements; "" if it does not. A job exactly
// at the limit is allowed.
func (r Limits) RefusesJob(collection, name string, d Requirements) string {
	switch {
	case d.Spacing > 0 && d.Spacing < r.MinRecurrence:
		return fmt.Sprintf("The job '%s' would recur after %s, sooner than the %s that the job collection '%s', of plan %s, allows (quota maxRecurrence). "+
			"Let the job recur less often, or change the plan or the quota of the collection.",
			name, iso8601.FormatDuration(d.Spacing), iso8601.FormatDuration(r.MinRecurrence), collection, r.Plan)
	case d.Authenticates && !r.Authentication:
		return fmt.Sprintf("The job '%s' authenticates its requests, which the plan %s of the job collection '%s' does not allow. "+
			"Leave out the authentication, or change the plan of the collection.",
			name, r.Plan, collection)
	}
	return ""
}

// RefusesAnother returns why a collection with have jobs refuses one more; "" if it does not.
func (r Limits) RefusesAnother(collection, name string, have int) string {
	if have < r.Jobs {
		return ""
	}
	return fmt.Sprintf("The job collection '%s', of plan %s, has reached its quota of %d jobs (quota maxJobCount), and the job '%s' would be one more than its %d. "+
		"Delete a job, or change the plan or the quota of the collection.",
		collection, r.Plan, r.Jobs, name, have)
}

// RefusesCount returns why these rules cannot be applied to a collection with have jobs; "" if they can.
func (r Limits) RefusesCount(collection string, have int) string {
	if have <= r.Jobs {
		return ""
	}
	return fmt.Sprintf("The job collection '%s' has %d jobs, more than the %d that its plan %s would allow with this quota (maxJobCount). "+
		"Delete jobs first, or ask for a larger plan or quota.",
		collection, have, r.Jobs, r.Plan)
}
