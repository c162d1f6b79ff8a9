package job

import (
	"maps"
	"slices"
	"time"
)

// A Plan is what a SKU allows.
type Plan struct {
	Jobs           int           // jobs in a collection
	MinRecurrence  time.Duration // least time between two occurrences of a job
	Collections    int           // collections in a subscription
	Authentication bool          // whether requests may authenticate themselves
}

// defaultPlans returns the plans of Azure Scheduler. Premium is the one that
// version 2016-01-01 of its API knows instead of P10Premium and P20Premium. It has
// the limits of the smaller one, and keeps its name, which is all that clients
// of that version can read.
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

// What no plan can lift. A collection's workflow holds the names of its jobs, and
// a subscription's those of its collections, so that both have to stay small;
// and a recurrence cannot say less than a minute.
const (
	maxOfPlan       = 10_000
	minPlanInterval = time.Minute
)

// UnlimitedPlans returns plans without limits other than those that nothing can
// lift: 10,000 jobs in a collection, 10,000 collections in a subscription, and
// one minute between two occurrences.
func UnlimitedPlans() map[string]Plan {
	plans := defaultPlans()
	for name := range plans {
		plans[name] = Plan{Jobs: maxOfPlan, MinRecurrence: minPlanInterval, Collections: maxOfPlan, Authentication: true}
	}
	return plans
}

// ParsePlans reads an operator's table of plans, in JSON:
//
//	{"Standard": {"jobs": 500, "minRecurrence": "PT5M", "collections": 1000, "authentication": true}}
//
// Plans and members that are left out, or null, keep the limits of Azure
// Scheduler; there can be no other plans than its own. jobs and collections are
// 1 to 10,000, minRecurrence is an ISO 8601 duration or a .NET TimeSpan from one
// minute to 18 months. The error is an [*Error] of KindInvalid that lists every
// mistake.
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

// plan reads what an operator changes of a plan.
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

// sortedNames returns the names of the plans, in the same order every time.
func sortedNames(plans map[string]Plan) []string { return slices.Sorted(maps.Keys(plans)) }
