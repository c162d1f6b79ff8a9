package job

import "time"

// A Collection is a job collection: its names, and what a user writes of it.
// Its JSON is the stored form, and but for the key that of the REST API.
type Collection struct {
	Key        CollectionKey        `json:"key"` // names as they were first written
	Location   string               `json:"location,omitempty"`
	Tags       Members              `json:"tags,omitzero"`
	Properties CollectionProperties `json:"properties"`
}

// CollectionProperties are the "properties" of the REST API.
type CollectionProperties struct {
	SKU   SKU             `json:"sku"`
	State CollectionState `json:"state"`
	Quota *Quota          `json:"quota,omitempty"`
}

// A SKU names a plan.
type SKU struct {
	Name string `json:"name"` // Free, Standard, P10Premium, P20Premium
}

// A CollectionState says whether the jobs of a collection run.
type CollectionState string

// The states of a collection. In all but CollectionEnabled its jobs rest,
// whatever their own state.
const (
	CollectionEnabled   CollectionState = "Enabled"
	CollectionDisabled  CollectionState = "Disabled"
	CollectionSuspended CollectionState = "Suspended"
)

// A Quota tightens the limits of the plan.
type Quota struct {
	MaxJobCount   int            `json:"maxJobCount,omitempty"`
	MaxRecurrence *MaxRecurrence `json:"maxRecurrence,omitempty"`
}

// MaxRecurrence is the least time between two occurrences of a job.
type MaxRecurrence struct {
	Frequency string `json:"frequency"` // minute, hour, day, week, month
	Interval  int    `json:"interval"`
}

// Duration returns the least time that the interval can take: a month has 28 days.
func (m *MaxRecurrence) Duration() time.Duration {
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": day, "week": 7 * day, "month": 28 * day}
	return time.Duration(m.Interval) * units[m.Frequency]
}

// JobLimit returns how many jobs the collection takes under the plans of l.
func (p *CollectionProperties) JobLimit(l *Limits) int {
	most := l.Plans[p.SKU.Name].Jobs
	if p.Quota != nil && p.Quota.MaxJobCount > 0 {
		most = min(most, p.Quota.MaxJobCount)
	}
	return most
}

// MinRecurrence returns the least time between two occurrences of a job under
// the plans of l.
func (p *CollectionProperties) MinRecurrence(l *Limits) time.Duration {
	least := l.Plans[p.SKU.Name].MinRecurrence
	if p.Quota != nil && p.Quota.MaxRecurrence != nil {
		least = max(least, p.Quota.MaxRecurrence.Duration())
	}
	return least
}
