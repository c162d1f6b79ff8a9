package job

import (
	"maps"
	"slices"
	"time"
)

// A Plan is the set of limits of a SKU.
type Plan struct {
	Jobs           int           // maximum in a collection
	MinRecurrence  time.Duration // minimum time between two occurrences of a job
	Collections    int           // maximum in a subscription
	Authentication bool          // whether requests may authenticate
}

// defaultPlans returns the plans of Azure Scheduler. Premium is the plan of API version 2016-01-01 that
// later became P10Premium and P20Premium. It has the limits of P10Premium, and keeps its name, because
// clients of that version know no other.
func defaultPlans() map[string]Plan {
	premium := Plan{Jobs: 50, MinRecurrence: time.Minute, Collections: maxOfPlan, Authentication: true}
	return map[string]Plan{
		"Free":       {Jobs: 5, MinRecurrence: time.Hour, Collections: 1},
		"Standard":   {Jobs: 50, MinRecurrence: time.Minute, Collections: 100, Authentication: true},
		"Premium":    premium,
		"P10Premium": premium,
		"P20Premium": {Jobs: 1000, MinRecurrence: time.Minute, Collections: maxOfPlan, Authentication: true},
	}
}

// Limits of every plan. The workflow of a collection holds the names of its jobs, and that of a
// subscription those of its collections, so both must stay small. The shortest recurrence is a minute.
const (
	maxOfPlan       = 10_000
	minPlanInterval = time.Minute
)

// UnlimitedPlans returns plans with only the limits that apply to every plan: 10,000 jobs in a collection,
// 10,000 collections in a subscription, and one minute between two occurrences.
func UnlimitedPlans() map[string]Plan {
	plans := defaultPlans()
	for name := range plans {
		plans[name] = Plan{Jobs: maxOfPlan, MinRecurrence: minPlanInterval, Collections: maxOfPlan, Authentication: true}
	}
	return plans
}

// ParsePlans parses an operator's table of plans, in JSON:
//
//	{"Standard": {"jobs": 500, "minRecurrence": "PT5M", "collections": 1000, "authentication": true}}
//
// Absent and null plans and members keep the limits of Azure Scheduler. Only the names of its plans are
// allowed. jobs and collections are 1 to 10,000; minRecurrence is an ISO 8601 duration or a .NET TimeSpan
// from one minute to 18 months. The error is an [*Error] of KindInvalid that lists every mistake.
func ParsePlans(text []byte) (map[string]Plan, error) {
	tree, err := parseObject(text)
	if err != nil {
		return nil, badRequest("The table of plans cannot be read: %v", err)
	}
	plans := defaultPlans()
	b := newBinder(new(DefaultLimits()))
	table, _ := b.object("", tree)
	for _, name := range sortedNames(plans) {
		if o, ok := table.object(name); ok {
			plans[name] = b.plan(o, plans[name])
		}
	}
	table.done()
	if len(b.fields) > 0 {
		return nil, b.err("table of plans")
	}
	return plans, nil
}

// plan parses an operator's changes to a plan.
func (b *binder) plan(o *object, p Plan) Plan {
	if n, ok := o.integer("jobs", 1, maxOfPlan); ok {
		p.Jobs = n
	}
	if d := o.duration("minRecurrence", minPlanInterval, eighteenMonths); d != "" {
		p.MinRecurrence = d.Value()
	}
	if n, ok := o.integer("collections", 1, maxOfPlan); ok {
		p.Collections = n
	}
	if yes := o.boolean("authentication"); yes != nil {
		p.Authentication = *yes
	}
	o.done()
	return p
}

// sortedNames returns the names of the plans in a fixed order.
func sortedNames(plans map[string]Plan) []string { return slices.Sorted(maps.Keys(plans)) }
