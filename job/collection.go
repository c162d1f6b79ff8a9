package job

import "time"

// A Collection is a job collection: its names, and what a user writes of it.
// Its JSON is the stored form, and but for the key that of the REST API.
type Collection struct {
	Key        CollectionKey        `json:"key"` // names as they were first written
	Location   string               `json:"location,omitempty"`
	Tags       Members              `json:"tags,omitzero"`
	Properties CollectionProperties `json:"properties"`
	Generation int                  `json:"generation,omitempty"` // counts the changes of the properties

	// Unread says, in an entry of a list, why the collection could not be read. Then
	// nothing but the key is known of it.
	Unread string `json:"-"`
}

// CollectionProperties are the "properties" of the REST API.
type CollectionProperties struct {
	SKU   SKU             `json:"sku"`
	State CollectionState `json:"state"`
	Quota *Quota          `json:"quota,omitempty"`
}

// A SKU names a plan.
type SKU struct {
	Name string `json:"name"` // Free, Standard, P10Premium, P20Premium, or Premium of version 2016-01-01
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

// Duration returns the least time that the interval can take: a month has 28
// days. It is 0 for a frequency that is none.
func (m *MaxRecurrence) Duration() time.Duration {
	var unit time.Duration
	switch m.Frequency {
	case "minute":
		unit = time.Minute
	case "hour":
		unit = time.Hour
	case "day":
		unit = day
	case "week":
		unit = 7 * day
	case "month":
		unit = 28 * day
	}
	return time.Duration(m.Interval) * unit
}
