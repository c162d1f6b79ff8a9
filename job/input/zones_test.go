package input_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/workflowtest"
)

// It is not parallel, since it changes what all use.
func TestATimeZoneThatTheReleaseInUseLacksIsNotTakenForAMistake(t *testing.T) {
	workflowtest.UseZones(t, "2020a", nil)
	for name, hint := range map[string]string{
		"Europe/Berlin":           "the time zones of the release 2020a, which are in use here, lack it: see --zoneinfo",
		"W. Europe Standard Time": "the time zones of the release 2020a, which are in use here, lack it: see --zoneinfo",
		"UTc":                     `did you mean "UTC"?`,
	} {
		_, err := parse(withRecurrence(`{"frequency":"day","timeZone":"` + name + `"}`))
		require.ErrorContains(t, err, hint, name)
	}
}
