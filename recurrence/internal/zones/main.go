// Command zones writes the names of time zones that package recurrence knows: those of Go's copy of the IANA
// database, and those of Windows in Unicode CLDR, for which it needs npm. Run it with go generate, after a new
// release of Go or of CLDR.
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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cldr is the npm package with a release of Unicode CLDR's data.
const cldr = "cldr-core@48.2.0"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "zones:", err)
		os.Exit(1)
	}
}

func run() error {
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	iana, err := ianaZones(filepath.Join(goroot, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return err
	}
	directory, err := os.MkdirTemp("", "zones-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
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
