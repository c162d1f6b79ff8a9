package settings

import (
	"fmt"

	"almanac/internal/files"
	"almanac/job/input"
)

// Values of the setting plans; any other value is the name of a file.
const (
	plansAzure     = "azure"
	plansUnlimited = "unlimited"
)

// readPlans sets the limits of jobs and collections.
func (c *Config) readPlans() error {
	c.Limits = input.DefaultLimits()
	c.Limits.AllowSecretRetargeting = c.keepSecrets
	switch c.plans {
	case plansAzure:
		return nil
	case plansUnlimited:
		c.Limits.Tiers = input.UnlimitedTiers()
		return nil
	}
	text, err := files.Read(c.plans)
	if err != nil {
		return c.set.Get("plans").Wrong(err, "azure, unlimited, or the name of a JSON file")
	}
	if c.Limits.Tiers, err = input.ParseTiers(text); err != nil {
		return c.set.Get("plans").Wrong(fmt.Errorf("%s: %w", c.plans, err), "")
	}
	return nil
}
