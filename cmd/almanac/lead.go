package main

import (
	"fmt"
	"time"

	"almanac/activities"
)

// maxLead is the longest lead that makes sense: the shortest recurrence is a minute.
const maxLead = 30 * time.Second

// lead defines how far ahead of their due time actions are dispatched, and
// returns what reads it. It may be called after check.
func (s *settings) lead() func() activities.Lead {
	def := activities.DefaultLead()
	least := s.duration("min-lead", "ALMANAC_MIN_LEAD", def.Min, maxLead,
		"how long before it is due an action is dispatched at least; each job learns how much it needs")
	most := s.duration("max-lead", "ALMANAC_MAX_LEAD", def.Max, maxLead,
		"how long before it is due an action is dispatched at most, which herds of jobs that are due together need")
	s.checks = append(s.checks, func() error {
		if *most > 0 && *least > *most { // what is no duration is told already
			return fmt.Errorf("--min-lead is %s, more than --max-lead, which is %s", *least, *most)
		}
		return nil
	})
	return func() activities.Lead { return activities.Lead{Min: *least, Max: *most} }
}
