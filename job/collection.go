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

	// Disabling says by whom and until when it is disabled, if a request said more than that; nil if none did.
	Disabling *Disabling `json:"disabling,omitempty"`

	// Unread is the reason why a collection in a list could not be read. If it is set, only the key is
	// known.
	Unread string `json:"-"`
}

// CollectionProperties are the "properties" of the REST API.
type CollectionProperties struct {
	SKU   SKU             `json:"sku" field:"required"`
	State CollectionState `json:"state" field:"enum=Enabled|Disabled|Suspended,default=Enabled"`
	Quota *Quota          `json:"quota,omitempty"`

	Notifications []Notification `json:"notifications,omitempty"`

	// of its jobs that have none of their own: see [Definition]
	FlexibleWindow Duration `json:"flexibleWindow,omitempty" field:"rule=flexibleWindow"`

	// times in which no occurrence of its jobs starts, after the jobs' own; at most calendars.MaxBlackouts. In a request, nil
	// stands for those that it has: a client may not know them
	Blackouts []Blackout `json:"blackouts,omitzero"`

	_ struct{} `ignore:"disabled"` // clients send back what they read
}

// A SKU names a plan.
type SKU struct {
	// Free, Standard, P10Premium, P20Premium; Premium in version 2016-01-01
	Name string `json:"name" field:"required,rule=sku"`
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
	MaxJobCount   int            `json:"maxJobCount,omitempty" field:"min=1,max=2147483647,quoted"`
	MaxRecurrence *MaxRecurrence `json:"maxRecurrence,omitempty"`

	_ struct{} `ignore:"maxJobOccurrence"` // the service accepted it, without an effect
}

// MaxRecurrence is the minimum time between two occurrences of a job.
type MaxRecurrence struct {
	Frequency string `json:"frequency" field:"required,enum=minute|hour|day|week|month"`
	Interval  int    `json:"interval" field:"min=1,max=1000,quoted,default=1"`
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
