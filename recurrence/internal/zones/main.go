// Command zones writes the names of time zones that package recurrence knows, with
// the sources as they are below. Run it with go generate, in the package's
// directory, after a new version of Go or of CLDR.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cldr is a release of Unicode CLDR's data on the npm registry.
const cldr = "https://registry.npmjs.org/cldr-core/-/cldr-core-48.2.0.tgz"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "zones:", err)
		os.Exit(1)
	}
}

func run() error {
	goroot, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("ask Go where it is: %w", err)
	}
	iana, err := ianaZones(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return err
	}
	data, err := fetch(cldr, "package/supplemental/windowsZones.json")
	if err != nil {
		return err
	}
	windows, err := windowsZones(data)
	if err != nil {
		return err
	}
	return errors.Join(write("ianazones.txt", iana), write("windowszones.txt", windows))
}

func write(name string, lines []string) error {
	return os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// ianaZones returns the names of the files in Go's copy of the IANA database, sorted.
func ianaZones(path string) ([]string, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	var names []string
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names, nil
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

// fetch returns one file of a compressed archive on the web.
func fetch(url, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	unzipped, err := gzip.NewReader(response.Body)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		file, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("find %s in %s: %w", name, url, err)
		}
		if file.Name == name {
			return io.ReadAll(files)
		}
	}
}
