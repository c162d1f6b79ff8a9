package listing

import (
	"time"

	"almanac/job"
)

// A ForecastQuery says of what a forecast is.
type ForecastQuery struct {
	From, Until time.Time // whole seconds: From counts, Until does not
	Step        time.Duration
	Host        string // of the jobs' actions, in lower case; empty for all
	View        View   // nil shows all

	// Except is a job that is left out, such as one whose change is being written.
	Except job.Key

	// Times are further seconds of which it is said how many are due in them.
	Times []time.Time
}

// A Forecast says how many occurrences come due in a window, as timetables have it: jobs that are disabled are left
// out, occurrences beyond a job's count are not.
type Forecast struct {
	// Until is the end of what was counted. It is before that of the query if there are very many occurrences.
	Until   time.Time
	Due     int
	Steps   []DueCount // those in which something is due
	Fullest []DueCount // the fullest seconds, at most [MaxFullest], the fullest first
	// Unspread is the fullest second if no job had a flexible window; nil if none has
	Unspread    *DueCount
	Hosts       []NamedCount
	Collections []NamedCount // by "resource group/name"
	Times       []DueCount   // of ForecastQuery.Times, in its order
	Jobs        int          // that were looked at
	Unread      int          // jobs and job collections that could not be
	AsOf        time.Time    // see [Summaries]
}

// MaxFullest is the number of seconds in Forecast.Fullest.
const MaxFullest = 8

// MaxNamed is the number of names in a list.
const MaxNamed = 20

// A DueCount is how many occurrences are due in a second, or in the time from it to the next step.
type DueCount struct {
	Time time.Time
	Due  int
	// Fullest is the most that are due in one second of the step, and FullestTime that second.
	Fullest     int
	FullestTime time.Time
	// Host is the host, and Collection the job collection, that has the most of them.
	Host, Collection NamedCount
}

// A NamedCount is how many occurrences something has.
type NamedCount struct {
	Name string
	Due  int
}
