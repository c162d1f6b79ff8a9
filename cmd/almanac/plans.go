package main

import (
	"fmt"
	"os"

	"almanac/job"
)

// The words that stand for a table of plans; everything else is a file.
const (
	plansAzure     = "azure"
	plansUnlimited = "unlimited"
)

// plans defines the limits of the plans, and returns what reads them. It may be
// called after check.
func (s *settings) plans() func() *job.Limits {
	value := s.file("plans", "ALMANAC_PLANS", plansAzure,
		"what the plans Free, Standard, P10Premium and P20Premium allow: azure, as Azure Scheduler did; unlimited; or a JSON file "+
			`such as {"Standard":{"jobs":500,"minRecurrence":"PT5M","collections":1000,"authentication":true}}`)
	limits := job.DefaultLimits()
	s.checks = append(s.checks, func() error {
		switch *value {
		case plansAzure:
			return nil
		case plansUnlimited:
			limits.Plans = job.UnlimitedPlans()
			return nil
		}
		text, err := os.ReadFile(*value)
		if err != nil {
			return fmt.Errorf("%s is neither %s nor %s nor a file that can be read: %w", s.source("plans"), plansAzure, plansUnlimited, err)
		}
		plans, err := job.ParsePlans(text)
		if err != nil {
			return s.blame("plans", fmt.Errorf("%s: %w", *value, err))
		}
		limits.Plans = plans
		return nil
	})
	return func() *job.Limits { return &limits }
}
