package wanted

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/jobfile"
)

// ConfigFile is the name of the file that says what a directory is about.
const ConfigFile = "almanac.yaml"

// A Config says what a directory is about.
type Config struct {
	Subscription  string   `yaml:"subscription,omitempty"`
	ResourceGroup string   `yaml:"resourceGroup,omitempty"`
	Collections   []string `yaml:"collections"`     // those that its jobs may be in
	Owner         string   `yaml:"owner,omitempty"` // a UUID that no other directory has
}

// A Directory is what the files of a directory want.
type Directory struct {
	Path   string // of the directory, or that of a single file; "": standard input
	Config Config // zero without a file of it
	Part   bool   // there may be more in the directory
	Jobs   []jobfile.Job
}

// maxFile is how long a file may be, in bytes.
const maxFile = 16 << 20

// Load reads a directory, a file, or stdin if the path is "-". A file may be in a directory, whose file is looked for
// above it; the jobs of one that is in none are in the given job collection, if they name no other. The error joins all
// that is wrong in the files.
func Load(path string, stdin io.Reader, collection string) (Directory, error) {
	return load(path, stdin, "", collection)
}

// LoadIn is Load with a job collection for all jobs that name none and are in no directory of one.
func LoadIn(path string, stdin io.Reader, collection string) (Directory, error) {
	return load(path, stdin, collection, "")
}

// load is Load: given is the collection of jobs that have none, whatever the directory names, and otherwise that of those
// of which nothing names one and which are in no directory.
func load(path string, stdin io.Reader, given, otherwise string) (Directory, error) {
	if path == "-" {
		text, err := readAll("standard input", stdin)
		if err != nil {
			return Directory{}, err
		}
		jobs, err := jobfile.Read("standard input", text)
		return placed(Directory{Part: true, Jobs: jobs}, given, otherwise, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return Directory{}, fmt.Errorf("the job files: %w", err)
	}
	if !info.IsDir() {
		return loadFile(path, given, otherwise)
	}
	d := Directory{Path: path}
	root, err := rootOf(filepath.Join(path, ConfigFile))
	if err != nil {
		return d, err
	}
	if root != "" && !sameDirectory(root, path) {
		d.Path, d.Part = root, true
	}
	if d.Config, err = ReadConfig(d.Path); err != nil {
		return d, err
	}
	files, err := jobFiles(path)
	if err != nil {
		return d, err
	}
	found, problems := make([][]jobfile.Job, len(files)), make([]error, len(files))
	var g errgroup.Group
	g.SetLimit(parallelFiles)
	for i, file := range files {
		g.Go(func() error {
			found[i], problems[i] = readFile(file)
			for k := range found[i] {
				inDirectory(&found[i][k], d.Path, file)
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in problems
	d.Jobs = slices.Concat(found...)
	return placed(d, given, "", errors.Join(problems...))
}

// loadFile is Load for a file.
func loadFile(path, given, otherwise string) (Directory, error) {
	d := Directory{Path: filepath.Dir(path), Part: true}
	root, err := rootOf(path)
	if err != nil {
		return d, err
	}
	if root == "" {
		d.Jobs, err = readFile(path)
		return placed(d, given, otherwise, err)
	}
	d.Path = root
	if d.Config, err = ReadConfig(root); err != nil {
		return d, err
	}
	d.Jobs, err = readFile(path)
	for i := range d.Jobs {
		inDirectory(&d.Jobs[i], root, path)
	}
	return placed(d, given, "", err)
}

func sameDirectory(a, b string) bool {
	one, errOne := os.Stat(a)
	two, errTwo := os.Stat(b)
	return errOne == nil && errTwo == nil && os.SameFile(one, two)
}

// readAll reads a text that is not longer than a file may be.
func readAll(name string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return text, nil
}

// rootOf returns the directory with a file of its own that a file is in; "" if there is none.
func rootOf(file string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ConfigFile)); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", nil
		}
		dir = above
	}
}

const parallelFiles = 8

// jobFiles returns the files below a directory that may have jobs, sorted. Those whose names begin with a dot, and the
// file of the directory itself, are none.
func jobFiles(root string) (files []string, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(e.Name(), ".") && path != root; {
		case err != nil:
			return fmt.Errorf("the job files: %w", err)
		case hidden && e.IsDir():
			return filepath.SkipDir
		case !hidden && e.Type()&fs.ModeSymlink != 0 && isDirectory(path):
			return fmt.Errorf("%s is a link to a directory, in which no job files are looked for: "+
				"put the directory there itself, or give the link a name that begins with a dot", path)
		case hidden, e.IsDir(), !jobfile.IsJobFile(e.Name()), path == filepath.Join(root, ConfigFile):
			return nil
		}
		files = append(files, path)
		return nil
	})
	return files, err
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func readFile(path string) ([]jobfile.Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAll(path, f)
	if err != nil {
		return nil, err
	}
	return jobfile.Read(filepath.ToSlash(path), text)
}

// inDirectory gives a job that names no job collection that of its directory: the first below root.
func inDirectory(j *jobfile.Job, root, file string) {
	if absolute, err := filepath.Abs(file); err == nil && filepath.IsAbs(root) {
		file = absolute
	}
	below, err := filepath.Rel(root, file)
	if err != nil || j.Collection != "" {
		return
	}
	if first, _, within := strings.Cut(filepath.ToSlash(below), "/"); within {
		j.Collection = first
	}
}

// placed gives each job its job collection: its own, given, the only one of the directory, or otherwise. It reports those
// that have none, or one that the directory does not name, and jobs that are there twice.
func placed(d Directory, given, otherwise string, err error) (Directory, error) {
	problems := []error{err}
	fail := func(j *jobfile.Job, format string, args ...any) {
		problems = append(problems, &jobfile.Problem{At: j.Place(), Message: fmt.Sprintf(format, args...)})
	}
	seen := map[string]*jobfile.Job{}
	for i := range d.Jobs {
		j := &d.Jobs[i]
		j.Collection = cmp.Or(j.Collection, given)
		if j.Collection == "" && len(d.Config.Collections) == 1 {
			j.Collection = d.Config.Collections[0]
		}
		j.Collection = cmp.Or(j.Collection, otherwise)
		same := func(name string) bool { return fields.SameName(name, j.Collection) }
		switch {
		case j.Name == "": // reported
			continue
		case j.Collection == "":
			fail(j, "job %s has no job collection: add collection, or put the file into a directory of its name", j.Name)
			continue
		case d.Config.Collections != nil && !slices.ContainsFunc(d.Config.Collections, same):
			fail(j, "%s names no job collection %s: add it to collections there", ConfigFile, j.Collection)
		}
		key := keyOf(j.Collection, j.Name)
		if before := seen[key]; before != nil {
			fail(j, "job %s/%s is in %s as well", j.Collection, j.Name, before.Place())
		}
		seen[key] = j
		k := job.CollectionKey{Subscription: job.NilSubscription, ResourceGroup: "default", Name: j.Collection}.Job(j.Name)
		if err := k.Validate(); err != nil {
			fail(j, "%s", err)
		}
	}
	return d, errors.Join(problems...)
}

// keyOf returns the form in which the names of jobs are compared.
func keyOf(collection, name string) string { return fields.Normalize(collection + "/" + name) }

// ReadConfig reads the file of a directory; zero if there is none.
func ReadConfig(dir string) (c Config, err error) {
	path := filepath.Join(dir, ConfigFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	decoder := yaml.NewDecoder(io.LimitReader(f, maxFile))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if c.Collections == nil {
		return c, fmt.Errorf("%s: collections is missing: a list of the names of job collections", path)
	}
	if (c.Subscription == "") != (c.ResourceGroup == "") {
		return c, fmt.Errorf("%s: subscription and resourceGroup stand together, or both are left out", path)
	}
	return c, nil
}
