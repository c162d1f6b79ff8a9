package main

import (
	"fmt"
	"os"

	"almanac/job"
)

// Values of the setting plans; any other value is the name of a file.
const (
	plansAzure     = "azure"
	plansUnlimited = "unlimited"
)

// limits defines the settings for limits of jobs and collections, and returns a function for the result, to
// be called after check.
func (s *settings) limits() func() *job.Limits {
	value := s.file("plans", "ALMANAC_PLANS", plansAzure,
		"what the plans Free, Standard, P10Premium and P20Premium allow: azure, as Azure Scheduler did; unlimited; or a JSON file "+
			`such as {"Standard":{"jobs":500,"minRecurrence":"PT5M","collections":1000,"authentication":true}}`)
	retarget := s.boolean("allow-secret-retargeting", "ALMANAC_ALLOW_SECRET_RETARGETING",
		"keep a stored password, certificate, client secret, SAS token or key when a change sends it to another host, tenant, account or namespace, "+
			"as Azure Scheduler did; without, the change has to bring it again")
	limits := job.DefaultLimits()
	s.checks = append(s.checks, func() error {
		limits.AllowSecretRetargeting = *retarget
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
