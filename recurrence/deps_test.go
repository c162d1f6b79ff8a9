package recurrence_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An importer gets the standard library, and no copy of the time zone database, which it can import itself.
func TestTheLibraryImportsTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.Standard}} {{.ImportPath}}", "almanac/recurrence", "almanac/recurrence/cron", "almanac/recurrence/rrule", "almanac/recurrence/calendars").CombinedOutput()
	require.NoError(t, err, string(output))
	packages := strings.Split(strings.TrimSpace(string(output)), "\n")
	assert.Contains(t, packages, "true time")
	assert.Contains(t, packages, "false almanac/recurrence/internal/grid")
	assert.NotContains(t, packages, "true time/tzdata")
	assert.NotContains(t, packages, "true net")
	for _, p := range packages {
		if path, ok := strings.CutPrefix(p, "false "); ok {
			assert.True(t, strings.HasPrefix(path+"/", "almanac/recurrence/"), path)
		}
	}
}
