package config

import (
	"errors"
	"fmt"

	"almanac/cmd/almanac/internal/preview"
)

// Values of --output.
const (
	OutputText = "text"
	OutputJSON = "json"
)

// previewOptions are the values of the flags of preview.
type previewOptions struct {
	preview.Options
	Output string
	Batch  bool
}

// checkBatch checks which flags were given together.
func (c *Config) checkBatch() error {
	var errs []error
	for _, name := range []string{"now", "take", "tz", "output", "compare-zoneinfo"} {
		switch {
		case !c.Preview.Batch || !c.settings.Get(name).Given():
		case name == "now" || name == "take":
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --batch: give each line its own %q", name, name))
		default:
			errs = append(errs, fmt.Errorf("--%s cannot be combined with --batch, which writes JSON lines in UTC", name))
		}
	}
	if c.settings.Get("tz").Given() && c.Preview.Output == OutputJSON {
		errs = append(errs, errors.New("--tz cannot be combined with --output json, whose times are in UTC"))
	}
	if c.settings.Get("compare-zoneinfo").Given() && c.Preview.Output == OutputJSON {
		errs = append(errs, errors.New("--compare-zoneinfo cannot be combined with --output json: run it twice, with another --zoneinfo"))
	}
	return errors.Join(errs...)
}
