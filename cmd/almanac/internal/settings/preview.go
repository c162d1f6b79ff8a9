package settings

import (
	"errors"
	"fmt"
	"time"

	"almanac/recurrence"
)

// Values of --output.
const (
	OutputText = "text"
	OutputJSON = "json"
)

// Preview is the flags of preview.
type Preview struct {
	Now     time.Time
	Take    int               // number of occurrences; 0: the definition's take
	Zone    *time.Location    // in which times are shown; nil: the zone of the recurrence
	Compare *recurrence.Zones // other time zones to show times by as well; nil: none
	Output  string
	Batch   bool

	Calendars []string // files, each after a name and "=" if it has another one
}

// checkBatch checks which flags were given together.
func (c *Config) checkBatch() error {
	var errs []error
	for _, name := range []string{"now", "take", "tz", "output", "compare-zoneinfo"} {
		switch {
		case !c.Preview.Batch || !c.set.Get(name).Given():
		case name == "now" || name == "take":
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --batch: give each line its own %q", name, name))
		default:
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --batch, which writes JSON lines in UTC", name))
		}
	}
	if c.set.Get("tz").Given() && c.Preview.Output == OutputJSON {
		errs = append(errs, errors.New("--tz cannot be combined with --output json, whose times are in UTC"))
	}
	if c.set.Get("compare-zoneinfo").Given() && c.Preview.Output == OutputJSON {
		errs = append(errs, errors.New("--compare-zoneinfo cannot be combined with --output json: run it twice, with another --zoneinfo"))
	}
	return errors.Join(errs...)
}
