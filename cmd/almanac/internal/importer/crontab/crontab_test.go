package crontab_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/crontab"
	"almanac/cmd/almanac/internal/importer/source"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func read(text string, o importer.Options) *importer.Report {
	dir := fstest.MapFS{"x": {Data: []byte(text)}}
	o.Now = now
	return importer.Finish("crontab", crontab.Read([]source.File{{Dir: dir, Path: "x", Name: "x"}}, o), now)
}

// Almost all lines fire at the same times, clock changes included.
func TestRunsAreEqual(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Stockholm", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca"} {
		for _, expr := range []string{
			"* * * * *", "*/5 * * * *", "0 * * * *", "15,45 * * * *", "0 9 * * *", "0 9 * * 1-5", "0 0 1 * *", "0 12 L * *", "30 4 1,15 * *",
			"0 */2 * * *", "*/20 */3 * * *", "0 0 * * 7", "5 8 * jan-mar *", "0 9-17 * * mon,wed", "0 12 */2 * 1", "0 5 29 2 *", "@daily", "@weekly",
			"0 12 13 * 5", "0 */2 * * 1", "*/30 */4 1,15 * *", "0 0 1-31 * 1",
		} {
			r := read(expr+" curl -f https://a.example/x\n", importer.Options{Zone: zone})
			require.Len(t, r.Jobs, 1)
			if expr == "0 12 L * *" {
				require.Equal(t, importer.Never, r.Jobs[0].Verdict)
				continue
			}
			require.Equal(t, importer.Same, r.Jobs[0].Verdict, "%s %s: %+v", zone, expr, r.Jobs[0].Findings)
			require.True(t, r.Jobs[0].Runs.Equal)
		}
	}
}

func TestWhereTheClockChanges(t *testing.T) {
	t.Parallel()
	r := read("30 2 * * * curl -f https://a.example/x\n", importer.Options{Zone: "Europe/Stockholm"})
	require.Equal(t, importer.Differs, r.Jobs[0].Verdict)
	require.Contains(t, r.Jobs[0].Findings[len(r.Jobs[0].Findings)-1].Text, "first 2027-03-28T01:00:00Z by the source, 2027-03-28T01:30:00Z here")
}

func TestNoZoneIsUnknown(t *testing.T) {
	t.Parallel()
	r := read("TZ=Asia/Tokyo\n0 9 * * * curl -f https://a.example/x\n", importer.Options{})
	require.Equal(t, importer.Needs, r.Jobs[0].Verdict)
	require.Equal(t, 1, r.Jobs[0].Needs)
	require.Contains(t, r.Jobs[0].Findings[len(r.Jobs[0].Findings)-1].Text, "TZ=Asia/Tokyo is the zone of the commands")
}

func TestForms(t *testing.T) {
	t.Parallel()
	const line = "0 9 * * * root curl -f https://a.example/x\n"
	require.Equal(t, "a.example", read(line, importer.Options{Zone: "UTC"}).Jobs[0].Name)
	require.Equal(t, "root", read(line, importer.Options{Zone: "UTC", Form: "user"}).Jobs[0].Name)
	require.Equal(t, "a.example", read("0 9 * * *\tapp\tcurl -f https://a.example/x\n", importer.Options{Zone: "UTC", Form: "system"}).Jobs[0].Name)
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"* * * * * curl x", "@reboot a", "A=b\n0 0 * * * root wget -O- $A%b", "\x00\r\n#\n1 2 3 4 5", "CRON_TZ=UTC\n0 9 13 * 5 sh -c 'curl a'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := read(text, importer.Options{Zone: "Europe/Stockholm"})
		if _, err := r.Files(); err != nil {
			t.Error(err)
		}
		if len(r.Jobs) == 0 && r.Missing() == nil {
			t.Error("nothing was found, and that is a success")
		}
	})
}
