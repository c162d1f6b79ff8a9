// Package tzdata has a release of the IANA time zone database. A program that imports it uses these time zones and no
// others, whatever the machine has, unless it calls [recurrence.UseZones].
//
// `task zoneinfo` writes the data anew after a release of the database.
package tzdata

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"almanac/recurrence"
)

//go:embed zoneinfo.zip
var archive []byte

// source has, in a line each: the release, the day on which it was published, the day on which the data was written, and
// the SHA-256 of the tzdata.zi that the data was compiled from.
//
//go:embed source.txt
var source string

// Zones returns the release that this package has.
var Zones = sync.OnceValue(func() *recurrence.Zones {
	zones, err := fromZip(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic("the embedded time zones: " + err.Error()) //nolint:forbidigo // a test reads them
	}
	return zones
})

func init() { recurrence.UseZonesOf(Zones) } // reading them takes a while, and not every program needs them

// Published returns the day on which the release was published, and the one on which it was found to be the newest, as
// 2026-01-31.
func Published() (published, checked string) {
	lines := strings.Fields(source)
	return lines[1], lines[2]
}

// Open reads a release from a directory, such as /usr/share/zoneinfo, or from a zip archive of one. See
// [recurrence.ReadZones].
func Open(path string) (*recurrence.Zones, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var zones *recurrence.Zones
	if info.IsDir() {
		zones, err = recurrence.ReadZones(os.DirFS(path))
	} else {
		zones, err = fromFile(path, info)
	}
	if err == nil {
		err = zones.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("read the time zones in %s: %w", path, err)
	}
	return zones, nil
}

func fromFile(path string, info fs.FileInfo) (*recurrence.Zones, error) {
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is neither a directory nor a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return fromZip(file, info.Size())
}

func fromZip(r io.ReaderAt, size int64) (*recurrence.Zones, error) {
	files, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	return recurrence.ReadZones(files)
}
