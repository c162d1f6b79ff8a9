// Command zones writes the release of the IANA time zone database that Almanac has, into recurrence/tzdata, and the
// names of time zones of package recurrence: its own, and those of Windows in Unicode CLDR.
//
// The database comes from Debian's package tzdata of the newest release that apt-get finds, as the file tzdata.zi,
// which is IANA's source in short form; zic compiles it. With -zi it comes from another such file. CLDR comes from npm.
// Run it with `task zoneinfo`.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// cldr is the npm package with a release of Unicode CLDR's data.
const cldr = "cldr-core@48.2.0"

func main() {
	var s source
	flag.StringVar(&s.zi, "zi", "", "the tzdata.zi to compile; by default that of Debian's package")
	flag.StringVar(&s.published, "published", "", "with -zi: the day on which IANA published its release, as 2026-01-31")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "zones:", err)
		os.Exit(1)
	}
}

// A source is a release of the database.
type source struct{ zi, published string }

func run(s source) error {
	directory, err := os.MkdirTemp("", "zones-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	if s.zi == "" {
		if s, err = ofDebian(directory); err != nil {
			return err
		}
	}
	iana, err := compile(directory, s)
	if err != nil {
		return err
	}
	archive, err := output("npm", "pack", "--silent", "--pack-destination", directory, cldr)
	if err != nil {
		return err
	}
	data, err := unpack(filepath.Join(directory, archive), "package/supplemental/windowsZones.json")
	if err != nil {
		return err
	}
	windows, err := windowsZones(data)
	if err != nil {
		return err
	}
	return errors.Join(write("ianazones.txt", iana), write("windowszones.txt", windows))
}

// releaseNote matches the line of IANA's NEWS that begins with a release: its name and the day of its publication.
var releaseNote = regexp.MustCompile(`(?m)^Release (\d{4}[a-z]+) - (\d{4}-\d\d-\d\d)`)

// ofDebian returns the release in Debian's newest package.
func ofDebian(directory string) (source, error) {
	download := exec.Command("apt-get", "download", "tzdata") //nolint:noctx // the user interrupts it
	download.Dir, download.Stderr = directory, os.Stderr
	if err := download.Run(); err != nil {
		return source{}, fmt.Errorf("apt-get download tzdata: %w", err)
	}
	packages, err := filepath.Glob(filepath.Join(directory, "tzdata_*.deb"))
	if err != nil || len(packages) != 1 {
		return source{}, fmt.Errorf("apt-get downloaded the packages %q: %w", packages, err)
	}
	root := filepath.Join(directory, "package")
	if _, err := output("dpkg-deb", "-x", packages[0], root); err != nil {
		return source{}, err
	}
	packed, err := os.Open(filepath.Join(root, "usr/share/doc/tzdata/changelog.gz"))
	if err != nil {
		return source{}, err
	}
	defer packed.Close()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return source{}, err
	}
	news, err := io.ReadAll(unzipped)
	if err != nil {
		return source{}, err
	}
	newest := releaseNote.FindSubmatch(news)
	if newest == nil {
		return source{}, errors.New("the package's changelog names no release")
	}
	return source{zi: filepath.Join(root, "usr/share/zoneinfo/tzdata.zi"), published: string(newest[2])}, nil
}

// compile writes the archive of compiled zones, and says where it comes from. It returns the names of the zones,
// sorted.
func compile(directory string, s source) ([]string, error) {
	text, err := os.ReadFile(s.zi)
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	release, ok := strings.CutPrefix(first, "# version ")
	if _, err := time.Parse(time.DateOnly, s.published); !ok || err != nil {
		return nil, fmt.Errorf("%s begins with %q and was published on %q: give a tzdata.zi, and the day as 2026-01-31", s.zi, first, s.published)
	}
	compiled := filepath.Join(directory, "compiled")
	if _, err := output("zic", "-b", "slim", "-d", compiled, s.zi); err != nil {
		return nil, err
	}
	names, archive, err := pack(os.DirFS(compiled), release)
	if err != nil {
		return nil, err
	}
	origin := []string{release, s.published, time.Now().UTC().Format(time.DateOnly), fmt.Sprintf("%x", sha256.Sum256(text))} //nolint:forbidigo // a program of its own
	return names, errors.Join(write("tzdata/source.txt", origin), os.WriteFile("tzdata/zoneinfo.zip", archive, 0o644))
}

// pack returns the names of the zones in a directory, sorted, and an archive of them and of the release's name.
func pack(files fs.FS, release string) (names []string, archive []byte, err error) {
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	add := func(name string, data []byte) error {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	}
	err = add("+VERSION", []byte(release+"\n"))
	walk := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error { // in the order of names
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		names = append(names, name)
		return errors.Join(err, add(name, data))
	})
	slices.Sort(names)
	err = errors.Join(err, walk, w.Close())
	return names, buffer.Bytes(), err
}

// output runs a command and returns what it prints.
func output(command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

func write(name string, lines []string) error {
	return os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// windowsZones returns a line for each Windows zone, sorted: its name, a tab, and
// the IANA zone that stands for it in the territory 001, which is the world.
func windowsZones(data []byte) ([]string, error) {
	var file struct {
		Supplemental struct {
			WindowsZones struct {
				MapTimezones []struct {
					MapZone struct {
						Windows   string `json:"_other"`
						IANA      string `json:"_type"`
						Territory string `json:"_territory"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var lines []string
	for _, zone := range file.Supplemental.WindowsZones.MapTimezones {
		if m := zone.MapZone; m.Territory == "001" {
			lines = append(lines, m.Windows+"\t"+m.IANA)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// unpack returns one file of a compressed archive.
func unpack(path, name string) ([]byte, error) {
	archive, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		file, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("find %s in %s: %w", name, path, err)
		}
		if file.Name == name {
			return io.ReadAll(files)
		}
	}
}
