// Command holidays writes the tables of recurrence/holidays and docs/holidays.md.
//
// The days are those of the package holidays of Python, in Debian's newest package python3-holidays, whatever release of
// Debian this machine has. They are compared with those of the newest date-holidays of npm, which are not kept. It needs
// apt-get, Python 3.10 and Node. Run it with `task holidays`.
package main

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The years: of the tables, before and after the current one, and of the comparison, from the current one on.
const (
	yearsBefore   = 1
	yearsAfter    = 15
	yearsCompared = 6
)

func main() {
	if err := run(time.Now().UTC()); err != nil { //nolint:forbidigo // a program of its own
		fmt.Fprintln(os.Stderr, "holidays:", err)
		os.Exit(1)
	}
}

// A place has what the package holidays says of it.
type place struct {
	Code, Name string
	Weekend    []int // from Monday, which is 0
	MakeUp     []string
	Known      string
	Categories map[string][]holiday
}

// A holiday is its own name, its English name and its dates.
type holiday struct {
	own, english string
	dates        []string
}

func (h *holiday) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&h.own, &h.english, &h.dates})
}

// A found is what a package says.
type found struct {
	Version string
	Places  []*place
}

// An other is what date-holidays says: the name of each date of each place.
type other struct {
	Version string
	Places  map[string]map[string]string
}

func run(now time.Time) error {
	directory, err := os.MkdirTemp("", "holidays-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	library, release, err := ofDebian(directory)
	if err != nil {
		return err
	}
	first, last, today := now.Year()-yearsBefore, now.Year()+yearsAfter, now.Format(time.DateOnly)
	var all found
	if err := read(&all, "python3", "internal/holidays/tables.py", library, strconv.Itoa(first), strconv.Itoa(last), today); err != nil {
		return err
	}
	npm := filepath.Join(directory, "npm")
	if _, err := output("npm", "install", "--silent", "--no-save", "--prefix", npm, "date-holidays@latest"); err != nil {
		return err
	}
	var with other
	err = read(&with, "node", "internal/holidays/compared.cjs", filepath.Join(npm, "node_modules/date-holidays"),
		strconv.Itoa(now.Year()), strconv.Itoa(now.Year()+yearsCompared-1))
	if err != nil {
		return err
	}
	tables, err := packed(&all, first, last)
	if err != nil {
		return err
	}
	page := document(&all, &with, release, today, now.Year(), now.Year()+yearsCompared-1)
	return errors.Join(
		os.WriteFile("holidays/tables.bin", tables, 0o644),
		os.WriteFile("holidays/source.txt", []byte(strings.Join([]string{all.Version, release, with.Version, today}, "\n")+"\n"), 0o644),
		os.WriteFile("../docs/holidays.md", []byte(page), 0o644),
	)
}

// debian is a configuration of apt-get with a state of its own, in which there is Debian's newest release alone.
const debian = `Dir::State::lists "%[1]s/lists";
Dir::State::status "/dev/null";
Dir::Cache "%[1]s/cache";
Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "%[1]s/none";
Dir::Etc::preferencesparts "%[1]s/none";
Acquire::Languages "none";
APT::Sandbox::User "root";
`

const sources = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main\n"

// ofDebian returns the directory of the package and the version of Debian's.
func ofDebian(directory string) (library, version string, err error) {
	for _, below := range []string{"lists/partial", "cache/archives/partial", "none", "package"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(directory, below), 0o755))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(directory, "apt.conf"), fmt.Appendf(nil, debian, directory), 0o644),
		os.WriteFile(filepath.Join(directory, "sources.list"), []byte(sources), 0o644))
	if err != nil {
		return "", "", err
	}
	for _, arguments := range [][]string{
		{"apt-get", "update", "-qq"}, {"apt-get", "download", "-qq", "python3-holidays", "python3-dateutil", "python3-six"},
	} {
		command := exec.Command(arguments[0], arguments[1:]...) //nolint:noctx // the user interrupts it
		command.Dir, command.Stderr = directory, os.Stderr
		command.Env = append(os.Environ(), "APT_CONFIG="+filepath.Join(directory, "apt.conf"))
		if err := command.Run(); err != nil {
			return "", "", fmt.Errorf("%s: %w", strings.Join(arguments, " "), err)
		}
	}
	packages, err := filepath.Glob(filepath.Join(directory, "*.deb"))
	if err != nil {
		return "", "", err
	}
	for _, one := range packages {
		if _, err := output("dpkg-deb", "-x", one, filepath.Join(directory, "package")); err != nil {
			return "", "", err
		}
		if strings.HasPrefix(filepath.Base(one), "python3-holidays_") {
			if version, err = output("dpkg-deb", "-f", one, "Version"); err != nil {
				return "", "", err
			}
		}
	}
	return filepath.Join(directory, "package/usr/lib/python3/dist-packages"), "python3-holidays " + version + " of Debian", nil
}

// output runs a command and returns what it prints.
func output(command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// read runs a command and reads the JSON that it prints.
func read(into any, command ...string) error {
	text, err := output(command...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

func compressed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
