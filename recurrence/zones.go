package recurrence

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Zones is one release of the IANA time zone database, held in memory. It is immutable and safe for concurrent
// use.
type Zones struct {
	release string
	names   []string // sorted
	data    map[string][]byte
	loaded  sync.Map // of name to *zone
}

// A zone is a time zone that was loaded.
type zone struct {
	location *time.Location
	rules    string
}

// current returns what [LoadLocation] uses; nil means the data of package time.
var current atomic.Pointer[func() *Zones]

// UseZones has [LoadLocation] use a release in this program. Call it before the first time zone is loaded: those that
// were loaded stay as they are. nil means the data of package time. It returns the release that was used before.
func UseZones(z *Zones) (before *Zones) {
	use := func() *Zones { return z }
	return zonesOf(current.Swap(&use))
}

// UseZonesOf is [UseZones] with a release that load returns. It is called when the release is needed, each time, and
// returns the same one.
func UseZonesOf(load func() *Zones) { current.Store(&load) }

func zonesOf(load *func() *Zones) *Zones {
	if load == nil {
		return nil
	}
	return (*load)()
}

// CurrentZones returns the release that [LoadLocation] uses; nil if that is the data of package time, whose release
// is not known.
func CurrentZones() *Zones { return zonesOf(current.Load()) }

// Limits of what ReadZones reads.
const (
	maxZones    = 5_000
	maxZoneSize = 64 << 10
)

var releasePattern = regexp.MustCompile(`^(?:# version )?(\d{4}[a-z]{1,2})\s*$`)

// ReadZones reads a release: the compiled zones (RFC 9636) of a directory or an archive such as /usr/share/zoneinfo.
// Its files +VERSION, tzdata.zi or version say which release it is. All zones are read at once, so that a later change
// of the files changes nothing.
func ReadZones(files fs.FS) (*Zones, error) {
	z := &Zones{data: map[string][]byte{}}
	for _, name := range []string{"+VERSION", "tzdata.zi", "version"} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			continue
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if m := releasePattern.FindSubmatch(line); m != nil {
			z.release = string(m[1])
			break
		}
	}
	if z.release == "" {
		return nil, errors.New("it names no release of the time zone database: write it, such as 2026b, into a file +VERSION beside the zones")
	}
	if err := fs.WalkDir(files, ".", z.read(files)); err != nil {
		return nil, err
	}
	if len(z.data) == 0 {
		return nil, errors.New("it has no compiled time zones")
	}
	slices.Sort(z.names)
	if _, ok := z.data["UTC"]; !ok {
		return nil, errors.New("it has no zone UTC")
	}
	return z, nil
}

// read returns a function that reads the zone in a file, if it is one.
func (z *Zones) read(files fs.FS) fs.WalkDirFunc {
	return func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "posix" || name == "right"): // the same zones again, and with leap seconds
			return fs.SkipDir
		case entry.IsDir(), name == "localtime", name == "posixrules":
			return nil
		case len(z.names) == maxZones:
			return fmt.Errorf("it has more than %d zones", maxZones)
		}
		if info, err := fs.Stat(files, name); err != nil || !info.Mode().IsRegular() || info.Size() > maxZoneSize {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil || !bytes.HasPrefix(data, []byte("TZif")) {
			return err
		}
		z.names, z.data[name] = append(z.names, name), data
		return nil
	}
}

// Check returns an error if a zone cannot be loaded.
func (z *Zones) Check() error {
	for _, name := range z.names {
		if _, err := time.LoadLocationFromTZData(name, z.data[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Release returns the name of the release, such as 2026b; "" for nil. Names of later releases compare greater.
func (z *Zones) Release() string {
	if z == nil {
		return ""
	}
	return z.release
}

// Names returns the IANA names of the zones, sorted.
func (z *Zones) Names() []string { return slices.Clone(z.names) }

// Location returns the time zone with that name; see [LoadLocation].
func (z *Zones) Location(name string) (*time.Location, error) {
	one, err := z.load(name)
	if err != nil {
		return nil, err
	}
	return one.location, nil
}

// Rules returns a hash of the zone's offsets since 1970. Releases in which it is the same give the same instants.
// It is "" for a name that is unknown, and for UTC.
func (z *Zones) Rules(name string) string {
	one, err := z.load(name)
	if err != nil || one.location == time.UTC {
		return ""
	}
	return one.rules
}

func (z *Zones) load(name string) (*zone, error) {
	iana := name
	if _, ok := z.data[iana]; !ok {
		iana = windowsZones[name]
	}
	if _, ok := z.data[iana]; !ok { // also CLDR's zone, if this release lacks it
		return nil, &FieldError{Field: "time zone", Value: name, Allowed: allowedZones}
	}
	if one, ok := z.loaded.Load(iana); ok {
		return one.(*zone), nil
	}
	one := &zone{location: time.UTC}
	if iana != "UTC" {
		location, err := time.LoadLocationFromTZData(iana, z.data[iana])
		if err != nil {
			return nil, fmt.Errorf("time zone %q: %w", name, err)
		}
		one = &zone{location: location, rules: rulesOf(location)}
	}
	kept, _ := z.loaded.LoadOrStore(iana, one)
	return kept.(*zone), nil
}

// The period whose offsets [Zones.Rules] compares. Rules that repeat every year repeat in it.
var (
	firstCompared = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	lastCompared  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// rulesOf returns a hash of the offsets of a location, and of the times at which they change.
func rulesOf(location *time.Location) string {
	hash := fnv.New64a()
	last := ""
	for t := firstCompared.In(location); t.Before(lastCompared); {
		_, offset := t.Zone()
		if now := fmt.Sprint(offset); now != last {
			fmt.Fprintln(hash, t.Unix(), offset)
			last = now
		}
		_, end := t.ZoneBounds()
		if end.IsZero() {
			break
		}
		if !end.After(t) { // package time takes leap years to end after 365 days
			end = t.AddDate(0, 0, 1)
		}
		t = end
	}
	return fmt.Sprintf("%016x", hash.Sum64())
}
