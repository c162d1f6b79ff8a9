package tzdata_test

import (
	"archive/zip"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/recurrence"
	"almanac/recurrence/tzdata"
)

var release = flag.Bool("release", false, "check that the data is new enough for a release of Almanac")

func TestTheProgramUsesItsOwnReleaseWhateverTheMachineHas(t *testing.T) {
	require.Same(t, tzdata.Zones(), recurrence.CurrentZones())
	require.Regexp(t, `^20\d\d[a-z]$`, tzdata.Zones().Release())
	require.NoError(t, tzdata.Zones().Check())
}

// IANA's 2026b has British Columbia on -07 for good, 2026c Alberta on -06 and Morocco on +00.
func TestTheRulesOf2026(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{
		"America/Vancouver":     "2026-12-01T16:00:00Z",
		"America/Edmonton":      "2026-12-01T15:00:00Z",
		"Africa/Casablanca":     "2026-12-01T09:00:00Z",
		"Morocco Standard Time": "2026-12-01T09:00:00Z",
		"Europe/Stockholm":      "2026-12-01T08:00:00Z",
	} {
		location, err := recurrence.LoadLocation(zone)
		require.NoError(t, err)
		got, err := recurrence.ParseTime("2026-12-01T09:00", location)
		require.NoError(t, err)
		require.Equal(t, want, got.Format(time.RFC3339), zone)
	}
}

// The data is as new as it can be for so long after `task zoneinfo` found no newer release.
const maxAge = 120 * 24 * time.Hour

func TestTheDataIsCheckedForARelease(t *testing.T) {
	t.Parallel()
	published, checked := tzdata.Published()
	require.LessOrEqual(t, published, checked)
	day, err := time.Parse(time.DateOnly, checked)
	require.NoError(t, err)
	if *release {
		require.Less(t, time.Since(day), maxAge, "run `task zoneinfo`, which takes the newest release of the time zone database")
	}
}

// write writes a directory with the zones of Almanac's release under other names, and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	directory := t.TempDir()
	archive, err := zip.OpenReader("zoneinfo.zip")
	require.NoError(t, err)
	defer archive.Close()
	for name, from := range files {
		path := filepath.Join(directory, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		text := []byte(from)
		if file, err := archive.Open(from); err == nil {
			text = make([]byte, 1<<16)
			n, _ := file.Read(text)
			text = text[:n]
		}
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	return directory
}

func TestADirectoryReplacesAllZones(t *testing.T) {
	t.Parallel()
	directory := write(t, map[string]string{
		"UTC": "UTC", "Europe/Stockholm": "Asia/Tokyo", "posix/Europe/Oslo": "Europe/Oslo", "localtime": "Asia/Tokyo", "zone.tab": "SE", "tzdata.zi": "# version 2031c\n# a comment\n",
	})
	zones, err := tzdata.Open(directory)
	require.NoError(t, err)
	require.Equal(t, "2031c", zones.Release())
	require.Equal(t, []string{"Europe/Stockholm", "UTC"}, zones.Names())
	location, err := zones.Location("Europe/Stockholm")
	require.NoError(t, err)
	_, offset := time.Unix(0, 0).In(location).Zone()
	require.Equal(t, 9*3600, offset, "the zone is the one in the directory")
	_, err = zones.Location("Europe/Oslo")
	require.Error(t, err, "the machine and the program have that zone")
	require.NotEqual(t, tzdata.Zones().Rules("Europe/Stockholm"), zones.Rules("Europe/Stockholm"))
	require.Equal(t, tzdata.Zones().Rules("Asia/Tokyo"), zones.Rules("Europe/Stockholm"))
}

func TestADirectoryThatIsNoReleaseIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"without the name of a release": {map[string]string{"UTC": "UTC"}, "it names no release of the time zone database: write it, such as 2026b, into a file +VERSION beside the zones"},
		"with another version":          {map[string]string{"UTC": "UTC", "+VERSION": "1.0"}, "it names no release"},
		"without zones":                 {map[string]string{"+VERSION": "2026b"}, "it has no compiled time zones"},
		"without UTC":                   {map[string]string{"+VERSION": "2026b", "CET": "CET"}, "it has no zone UTC"},
		"with a broken zone":            {map[string]string{"+VERSION": "2026b", "UTC": "UTC", "CET": "TZif2"}, "CET: malformed time zone information"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := write(t, tt.files)
			_, err := tzdata.Open(directory)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, directory)
		})
	}
	_, err := tzdata.Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("no archive"), 0o644))
	_, err = tzdata.Open(file)
	require.ErrorIs(t, err, zip.ErrFormat)
}

func TestAnArchiveIsADirectory(t *testing.T) {
	t.Parallel()
	zones, err := tzdata.Open("zoneinfo.zip")
	require.NoError(t, err)
	require.Equal(t, tzdata.Zones().Release(), zones.Release())
	require.Equal(t, tzdata.Zones().Names(), zones.Names())
}
