package job

import "time"

// A Collection is a job collection: its key and the part that users write. Its JSON is the stored form and,
// except for the key, that of the REST API.
type Collection struct {
	Key        CollectionKey        `json:"key"` // names as they were first written
	Location   string               `json:"location,omitempty"`
	Tags       Members              `json:"tags,omitzero"`
	Properties CollectionProperties `json:"properties"`
	Generation int                  `json:"generation,omitempty"` // number of changes of the properties

	// Unread is the reason why a collection in a list could not be read. If it is set, only the key is
	// known.
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
	Name string `json:"name"` // Free, Standard, P10Premium, P20Premium; Premium in version 2016-01-01
}

// A CollectionState defines whether the jobs of a collection run.
type CollectionState string

// The states of a collection. Jobs run only in CollectionEnabled, whatever their own state.
const (
	CollectionEnabled   CollectionState = "Enabled"
	CollectionDisabled  CollectionState = "Disabled"
	CollectionSuspended CollectionState = "Suspended"
)

// A Quota lowers the limits of the plan.
type Quota struct {
	MaxJobCount   int            `json:"maxJobCount,omitempty"`
	MaxRecurrence *MaxRecurrence `json:"maxRecurrence,omitempty"`
}

// MaxRecurrence is the minimum time between two occurrences of a job.
type MaxRecurrence struct {
	Frequency string `json:"frequency"` // minute, hour, day, week, month
	Interval  int    `json:"interval"`
}

// Duration returns the minimum length of the interval; a month counts 28 days. It is 0 for an unknown
// frequency.
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
