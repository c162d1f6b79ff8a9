package main

import (
	"fmt"
	"time"

	"almanac/activities"
	"almanac/worker"
)

// maxLead is the upper limit of the leads, because the shortest recurrence is a minute. maxHold is the
// upper limit of max-hold: the heartbeat timeout covers the hold, so after a long hold a worker crash
// during the request is detected late.
const (
	maxLead = 30 * time.Second
	maxHold = 10 * time.Minute
)

// lead defines how long before the due time actions are dispatched, and returns a function for the result,
// to be called after check.
func (s *settings) lead() func() activities.Lead {
	def := activities.DefaultLead()
	least := s.duration("min-lead", "ALMANAC_MIN_LEAD", def.Min, maxLead,
		"how long before it is due an action is dispatched at least; each job learns how much it needs")
	most := s.duration("max-lead", "ALMANAC_MAX_LEAD", def.Max, maxLead,
		"how long before it is due an action is dispatched at most, which herds of jobs that are due together need")
	hold := s.durationOrNone("max-hold", "ALMANAC_MAX_HOLD", def.Hold, maxHold,
		"an action that is due within this time after the one before it ended is dispatched at once, which saves a timer and a workflow task; 0s: none is")
	s.checks = append(s.checks, func() error {
		if *most > 0 && *least > *most { // a bad duration has its own error
			return fmt.Errorf("%s is %s, more than %s, which is %s", s.source("min-lead"), *least, s.source("max-lead"), *most)
		}
		return nil
	})
	return func() activities.Lead { return activities.Lead{Min: *least, Max: *most, Hold: *hold} }
}

// cachedWorkflows defines how many workflows the worker keeps in its cache.
func (s *settings) cachedWorkflows() *int {
	return s.count("max-cached-workflows", "ALMANAC_MAX_CACHED_WORKFLOWS", worker.DefaultCachedWorkflows,
		"how many jobs are kept in memory, about 60 kB each, those that ran last; another one is read again when it is due")
}

// mostPerHost is half of a worker's activity slots, so that the other half is free for other hosts.
const mostPerHost = worker.DefaultSlots / 2

// perHost defines how many requests to one host a worker makes at once.
func (s *settings) perHost() *int {
	n := s.count("max-per-host", "ALMANAC_MAX_PER_HOST", activities.DefaultPerHost, fmt.Sprintf(
		"how many requests to one host a worker waits for at once, of %d actions that it holds or makes; further ones are made later, so that a slow or silent host does not hold up the jobs of others",
		worker.DefaultSlots))
	s.checks = append(s.checks, func() error {
		if *n > mostPerHost {
			return fmt.Errorf("%s is %d, want at most %d", s.source("max-per-host"), *n, mostPerHost)
		}
		return nil
	})
	return n
}
