package audit

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"almanac/internal/fields"
)

// An Operation is a kind of change, in the words of Azure's activity log.
type Operation string

// The operations.
const (
	WriteJob  Operation = "Microsoft.Scheduler/jobCollections/jobs/write"
	DeleteJob Operation = "Microsoft.Scheduler/jobCollections/jobs/delete"
	RunJob    Operation = "Microsoft.Scheduler/jobCollections/jobs/run/action"
	SkipJob   Operation = "Microsoft.Scheduler/jobCollections/jobs/skip/action"
	UnskipJob Operation = "Microsoft.Scheduler/jobCollections/jobs/unskip/action"
	// BackfillJob is of one that is begun, paused, resumed or ended.
	BackfillJob Operation = "Microsoft.Scheduler/jobCollections/jobs/backfill/action"
	EnableJob   Operation = "Microsoft.Scheduler/jobCollections/jobs/enable/action"
	TryJob      Operation = "Microsoft.Scheduler/jobCollections/jobs/try/action"  // of the collection: it changes no job
	PlanJob     Operation = "Microsoft.Scheduler/jobCollections/jobs/plan/action" // by itself, with newer time zones
	DisableJob  Operation = "Microsoft.Scheduler/jobCollections/jobs/disable/action"

	PruneJob   Operation = "Microsoft.Scheduler/jobCollections/jobs/prune/action"
	RestoreJob Operation = "Microsoft.Scheduler/jobCollections/jobs/restore/action"

	CompareSecrets Operation = "Microsoft.Scheduler/jobCollections/jobs/compareSecrets/action" // it changes nothing

	WriteCollection   Operation = "Microsoft.Scheduler/jobCollections/write"
	DeleteCollection  Operation = "Microsoft.Scheduler/jobCollections/delete"
	EnableCollection  Operation = "Microsoft.Scheduler/jobCollections/enable/action"
	DisableCollection Operation = "Microsoft.Scheduler/jobCollections/disable/action"
	BindOwner         Operation = "Microsoft.Scheduler/jobCollections/bindOwner/action"
)

// A Status is how far a change has come.
type Status string

// The statuses.
const (
	Started   Status = "Started"
	Succeeded Status = "Succeeded"
	Failed    Status = "Failed"
)

// A Change is an entry of the list of changes.
type Change struct {
	ID          string // within the job or the job collection; it never changes
	Time        time.Time
	Operation   Operation
	Status      Status
	Message     string // why it failed, or how it was made if not by an API
	Actor       Actor  // zero if it was not made through an API
	Client      string // the Temporal client that sent it
	Differences []Difference
}

// A Difference is a member with another value after a change. From or To is nil if the member was or is absent. A
// secret is Hidden: both are nil.
type Difference struct {
	Path   string `json:"path"` // such as properties.action.request.uri
	From   any    `json:"from,omitempty"`
	To     any    `json:"to,omitempty"`
	Hidden bool   `json:"hidden,omitempty"`
}

// A Version is a job or a job collection as it is stored at some time.
type Version struct {
	full  any // as decoded JSON
	shown any // likewise, without secrets
}

// NewVersion returns a version from its stored form, and the same without secrets. What has no JSON is taken as absent.
func NewVersion(full, shown any) Version { return Version{decoded(full), decoded(shown)} }

// decoded returns the JSON of a value, decoded.
func decoded(value any) (decoded any) {
	text, err := json.Marshal(value)
	if err != nil || json.Unmarshal(text, &decoded) != nil {
		return nil
	}
	return decoded
}

// maxValue is the number of characters of a value that a difference shows at most.
const maxValue = 1000

// Differences returns what is different in w, by path. The members of an array are not compared one by one.
func (v Version) Differences(w Version) []Difference {
	return differences(nil, "", v, w)
}

func differences(found []Difference, path string, v, w Version) []Difference {
	a, isObject := v.full.(map[string]any)
	b, isObjectToo := w.full.(map[string]any)
	switch {
	case isObject && isObjectToo || isObject && w.full == nil || v.full == nil && isObjectToo:
		for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
			below := name
			if path != "" {
				below = path + "." + name
			}
			found = differences(found, below, v.member(name), w.member(name))
		}
	case reflect.DeepEqual(v.full, w.full):
	case v.secret() || w.secret():
		found = append(found, Difference{Path: path, Hidden: true})
	default:
		found = append(found, Difference{Path: path, From: shortened(v.shown), To: shortened(w.shown)})
	}
	return found
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return all
}

func (v Version) member(name string) Version {
	full, _ := v.full.(map[string]any)
	shown, _ := v.shown.(map[string]any)
	return Version{full[name], shown[name]}
}

// secret reports whether the value is present and not shown.
func (v Version) secret() bool { return v.full != nil && !reflect.DeepEqual(v.full, v.shown) }

func shortened(value any) any {
	if text, ok := value.(string); ok {
		return fields.Cut(text, maxValue)
	}
	return value
}
