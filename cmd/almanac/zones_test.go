package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/workflowtest"
	"almanac/recurrence"
)

// inOneProcess keeps other tests from running while this one changes the time zones of the process.
func inOneProcess(t *testing.T) {
	t.Helper()
	before := recurrence.CurrentZones()
	t.Setenv("ZONES_IN_USE", before.Release())
	t.Cleanup(func() { recurrence.UseZones(before) })
}

const vancouver = `{"startTime":"2026-12-01T09:00","recurrence":{"frequency":"day","count":2,"timeZone":"America/Vancouver"}}`

func TestTheTimeZonesComeFromOneReleaseWhichIsNamed(t *testing.T) {
	inOneProcess(t)
	out, err := almanac(t, "", nil, "version")
	require.NoError(t, err)
	require.Contains(t, out, "Time zones       "+recurrence.CurrentZones().Release())
	directory := workflowtest.ZonesDirectory(t, "2031c", map[string]string{"America/Vancouver": "PST8"})
	out, err = almanac(t, "", map[string]string{"ZONEINFO": directory}, "version")
	require.NoError(t, err)
	require.Contains(t, out, "Time zones       2031c")
	out, err = almanac(t, vancouver, nil, "preview", "--now", "2026-06-01T00:00:00Z", "--zoneinfo", directory, "-")
	require.NoError(t, err)
	require.Contains(t, out, "2026-12-01T17:00:00Z")
	_, err = almanac(t, "", nil, "version", "--zoneinfo", t.TempDir())
	require.ErrorContains(t, err, "it names no release of the time zone database")
}

func TestPreviewComparesTwoReleases(t *testing.T) {
	inOneProcess(t)
	directory := workflowtest.ZonesDirectory(t, "2025b", map[string]string{"America/Vancouver": "PST8PDT,M3.2.0,M11.1.0"})
	out, err := almanac(t, vancouver, nil, "preview", "--now", "2026-06-01T00:00:00Z", "--compare-zoneinfo", directory, "-")
	require.NoError(t, err)
	require.Equal(t, []string{
		"Tue 2026-12-01 09:00:00 -07:00 America/Vancouver  2026-12-01T16:00:00Z  2025b: 2026-12-01T17:00:00Z",
		"Wed 2026-12-02 09:00:00 -07:00 America/Vancouver  2026-12-02T16:00:00Z  2025b: 2026-12-02T17:00:00Z",
	}, strings.Split(strings.TrimSpace(out), "\n")[:2])
	out, err = almanac(t, strings.ReplaceAll(vancouver, "-12-", "-07-"), nil, "preview", "--now", "2026-06-01T00:00:00Z", "--compare-zoneinfo", directory, "-")
	require.NoError(t, err)
	require.NotContains(t, out, "2025b")
	_, err = almanac(t, vancouver, nil, "preview", "-o", "json", "--compare-zoneinfo", directory, "-")
	require.ErrorContains(t, err, "--compare-zoneinfo cannot be combined with --output json")
}
