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

// readPlans sets the limits of jobs and collections.
func (c *config) readPlans() error {
	c.limits = job.DefaultLimits()
	c.limits.AllowSecretRetargeting = c.keepSecrets
	switch c.plans {
	case plansAzure:
		return nil
	case plansUnlimited:
		c.limits.Plans = job.UnlimitedPlans()
		return nil
	}
	text, err := os.ReadFile(c.plans)
	if err != nil {
		return c.settings.Get("plans").Wrong(err, "azure, unlimited, or the name of a JSON file")
	}
	if c.limits.Plans, err = job.ParsePlans(text); err != nil {
		return c.settings.Get("plans").Wrong(fmt.Errorf("%s: %w", c.plans, err), "")
	}
	return nil
}
