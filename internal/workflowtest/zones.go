package workflowtest

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"almanac/recurrence"
)

// UseZones has the whole program use a release of the time zone database until the test ends: UTC, and a zone for each
// name, with the rule of a TZ variable, such as PST8PDT,M3.2.0,M11.1.0. The test must not be parallel.
func UseZones(t *testing.T, release string, rules map[string]string) {
	t.Helper()
	t.Setenv("ZONES_IN_USE", release) // which no parallel test may do
	before := recurrence.UseZones(Zones(t, release, rules))
	t.Cleanup(func() { recurrence.UseZones(before) })
}

// Zones returns such a release.
func Zones(t *testing.T, release string, rules map[string]string) *recurrence.Zones {
	t.Helper()
	zones, err := recurrence.ReadZones(filesOf(release, rules))
	require.NoError(t, err)
	require.NoError(t, zones.Check())
	return zones
}

// ZonesDirectory writes such a release into a directory, and returns it.
func ZonesDirectory(t *testing.T, release string, rules map[string]string) string {
	t.Helper()
	directory := t.TempDir()
	require.NoError(t, os.CopyFS(directory, filesOf(release, rules)))
	return directory
}

func filesOf(release string, rules map[string]string) fstest.MapFS {
	files := fstest.MapFS{"+VERSION": {Data: []byte(release)}, "UTC": {Data: compiled("UTC0")}}
	for name, rule := range rules {
		files[name] = &fstest.MapFile{Data: compiled(rule)}
	}
	return files
}

// compiled returns a zone in the form of RFC 9636, which is the rule alone.
func compiled(rule string) []byte {
	var b bytes.Buffer
	for range 2 { // the second is the same with longer numbers, of which there are none
		b.WriteString("TZif2")
		b.Write(make([]byte, 15))
		for _, count := range []uint32{0, 0, 0, 0, 1, 4} { // a local time type, and 4 bytes of abbreviations
			_ = binary.Write(&b, binary.BigEndian, count)
		}
		b.Write(make([]byte, 6)) // of the type: offset, daylight saving, abbreviation
		b.WriteString("LMT\x00")
	}
	b.WriteString("\n" + rule + "\n")
	return b.Bytes()
}
