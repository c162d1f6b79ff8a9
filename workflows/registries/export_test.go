package registries

import (
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
)

// Capacity returns how many names of the length of one a collection takes.
func Capacity(c *job.Collection, name string) int {
	return (maxRegistryBytes - claimsBytes - sizeOf(c)) / bytesOf(name)
}

// RemoveAll has a registry forget names that are all removed at once, and returns how many are left.
func RemoveAll(ctx workflow.Context, names Names, gone []workflows.Registration) (int, error) {
	r := newRegistry(ctx, names, func(name string) string { return name })
	r.remove(ctx, gone)
	return len(r.entries), nil
}
