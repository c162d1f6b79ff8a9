package input

import (
	"maps"
	"slices"
	"time"

	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job/quota"
)

// defaultTiers returns the tiers of Azure Scheduler. Premium is the SKU of API version 2016-01-01 that
// later became P10Premium and P20Premium. It has the limits of P10Premium, and keeps its name, because
// clients of that version know no other.
func defaultTiers() quota.Tiers {
	premium := quota.Tier{Jobs: 50, MinRecurrence: time.Minute, Collections: maxOfTier, Authentication: true}
	return quota.Tiers{
		"Free":       {Jobs: 5, MinRecurrence: time.Hour, Collections: 1},
		"Standard":   {Jobs: 50, MinRecurrence: time.Minute, Collections: 100, Authentication: true},
		"Premium":    premium,
		"P10Premium": premium,
		"P20Premium": {Jobs: 1000, MinRecurrence: time.Minute, Collections: maxOfTier, Authentication: true},
	}
}

// Limits of every tier. The workflow of a collection holds the names of its jobs, and that of a
// subscription those of its collections, so both must stay small. The shortest recurrence is a minute.
const (
	maxOfTier   = 10_000
	minInterval = time.Minute
)

// UnlimitedTiers returns tiers with only the limits that apply to every one: 10,000 jobs in a collection,
// 10,000 collections in a subscription, and one minute between two occurrences.
func UnlimitedTiers() quota.Tiers {
	tiers := defaultTiers()
	for name := range tiers {
		tiers[name] = quota.Tier{Jobs: maxOfTier, MinRecurrence: minInterval, Collections: maxOfTier, Authentication: true}
	}
	return tiers
}

// ParseTiers parses an operator's table of plans, in JSON:
//
//	{"Standard": {"jobs": 500, "minRecurrence": "PT5M", "collections": 1000, "authentication": true}}
//
// Absent and null plans and members keep the limits of Azure Scheduler. Only the names of its plans are
// allowed. jobs and collections are 1 to 10,000; minRecurrence is an ISO 8601 duration or a .NET TimeSpan
// from one minute to 18 months. The error is an [*job.Error] of [job.KindInvalid] that lists every mistake.
func ParseTiers(text []byte) (quota.Tiers, error) {
	tree, err := parseObject(text)
	if err != nil {
		return nil, badRequest("The table of plans cannot be read: %v", err)
	}
	tiers := defaultTiers()
	p := parser{Decoder: fields.Decoder{Rules: fixedRules}}
	names := sortedNames(tiers)
	for _, name := range names {
		if n := tree.Member(name); n != nil {
			tier := tiers[name]
			p.Decode(n, name, &tier)
			tiers[name] = tier
		}
	}
	p.Unknown(tree, "", names, nil)
	if err := p.err("table of plans"); err != nil {
		return nil, err
	}
	return tiers, nil
}

// minRecurrence is the rule for a time between two occurrences, which is kept as a [time.Duration].
var minRecurrence = fields.Rule{
	Allowed: durationRule(minInterval, eighteenMonths).Allowed,
	Parse: func(s string) (any, bool) {
		d, err := iso8601.ParseDuration(s)
		return d, err == nil && d >= minInterval && d <= eighteenMonths
	},
}

// sortedNames returns the names of the tiers in a fixed order.
func sortedNames(tiers quota.Tiers) []string { return slices.Sorted(maps.Keys(tiers)) }
