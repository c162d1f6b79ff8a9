package main

import (
	"slices"
	"testing"
)

func TestWindowsZonesAreThoseOfTheWorld(t *testing.T) {
	t.Parallel()
	lines, err := windowsZones([]byte(`{"supplemental": {"windowsZones": {"mapTimezones": [
		{"mapZone": {"_other": "W. Europe Standard Time", "_type": "Europe/Berlin", "_territory": "001"}},
		{"mapZone": {"_other": "W. Europe Standard Time", "_type": "Europe/Stockholm", "_territory": "SE"}},
		{"mapZone": {"_other": "Tokyo Standard Time", "_type": "Asia/Tokyo", "_territory": "001"}}]}}}`))
	want := []string{"Tokyo Standard Time\tAsia/Tokyo", "W. Europe Standard Time\tEurope/Berlin"}
	if err != nil || !slices.Equal(lines, want) {
		t.Errorf("got %q, %v; want %q", lines, err, want)
	}
}
