package recurrence_test

import (
	"testing"
	"time"

	"almanac/recurrence"
)

// A schedule goes on after the local time that was decided, by whichever instant it has now.
func TestResume(t *testing.T) {
	t.Parallel()
	vancouver := load(t, "America/Vancouver") // on -07 for good
	daily := recurrence.Rule{Frequency: recurrence.Day, Hours: []int{9, 10}, Minutes: []int{0}, Location: vancouver}
	hourly := recurrence.Rule{Frequency: recurrence.Hour, Location: vancouver}
	filtered := recurrence.Rule{Frequency: recurrence.Hour, Hours: []int{9}, Location: vancouver}
	for _, tt := range []struct {
		name       string
		rule       recurrence.Rule
		decided    string
		offset     int
		want, next string
	}{
		{"decided at the same offset", daily, "2026-12-01T16:00:00Z", -7 * 3600, "2026-12-01T16:00:00Z", "2026-12-01T17:00:00Z"},
		{"decided an hour later: 10:00 runs next, and 09:00 not again", daily, "2026-12-01T17:00:00Z", -8 * 3600, "2026-12-01T16:00:00Z", "2026-12-01T17:00:00Z"},
		{"decided an hour earlier: 09:00 does not run again", daily, "2026-12-01T15:00:00Z", -6 * 3600, "2026-12-01T16:00:00Z", "2026-12-01T17:00:00Z"},
		{"elapsed hours follow from no local time", hourly, "2026-12-01T17:00:00Z", -8 * 3600, "2026-12-01T17:00:00Z", "2026-12-01T18:00:00Z"},
		{"filtered hours do", filtered, "2026-12-01T15:00:00Z", -6 * 3600, "2026-12-01T16:00:00Z", "2026-12-02T16:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := recurrence.New(tt.rule, at("2026-01-01T00:00:00Z"))
			if err != nil {
				t.Fatal(err)
			}
			got := s.Resume(at(tt.decided), tt.offset)
			next, ok := s.Next(got)
			if !got.Equal(at(tt.want)) || !ok || !next.Equal(at(tt.next)) {
				t.Errorf("Resume = %v, next %v; want %s, next %s", got, next, tt.want, tt.next)
			}
		})
	}
	if new(recurrence.Schedule).Resume(time.Unix(7, 0), 3600).Unix() != 7 {
		t.Error("a schedule without instants moved a time")
	}
}
