package wanted

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"almanac/client"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/jobfile"
)

// Exported returns the jobs of collections as files have them, sorted by name. A job that has ended is disabled there,
// so that another server does not run it again. A comment names the secrets that are stored, and are not in the file.
func Exported(ctx context.Context, c *client.Client, collections []string) ([]jobfile.Job, error) {
	var all []jobfile.Job
	for _, collection := range collections {
		from := len(all)
		for body, err := range c.JobBodies(ctx, collection, client.List{}) {
			if unread, ok := errors.AsType[*client.UnreadError](err); ok {
				_, name := client.NamesOf(unread.Name)
				body, _, err = c.JobBody(ctx, collection, name)
			}
			if err != nil {
				return nil, missing(collection, err)
			}
			j, err := exported(body)
			if err != nil {
				return nil, err
			}
			all = append(all, j)
		}
		slices.SortFunc(all[from:], func(a, b jobfile.Job) int { return strings.Compare(keyOf("", a.Name), keyOf("", b.Name)) })
	}
	return all, nil
}

// exported returns a job of an answer.
func exported(body json.RawMessage) (jobfile.Job, error) {
	var answer struct {
		Name       string         `json:"name"`
		Properties job.Definition `json:"properties"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return jobfile.Job{}, fmt.Errorf("the answer of the API cannot be read: %w", err)
	}
	d := answer.Properties
	if d.State.Final() {
		d.State = job.StateDisabled
	}
	d.Recurrence = withoutMeaning(&d)
	collection, name := client.NamesOf(answer.Name)
	j, err := jobfile.New(collection, name, d)
	if err != nil {
		return j, err
	}
	for _, path := range lacking(&j) {
		j.Comment += path + " is a secret, which is not exported: an apply keeps the one that is stored\n"
	}
	return j, nil
}

// lacking returns the secrets that a job needs and does not have.
func lacking(j *jobfile.Job) (paths []string) {
	_, err := input.ParseDefinition(j.Body(nil), input.ParseOptions{Limits: generous(), Now: time.Now(), Short: true})
	e, ok := errors.AsType[*job.Error](err)
	if !ok {
		return nil
	}
	for _, f := range e.Fields {
		if f.Code == fields.Required && jobfile.IsSecret(f.Path) {
			paths = append(paths, strings.TrimPrefix(f.Path, "properties."))
		}
	}
	return paths
}

// Export writes jobs into a directory, a file each, in a directory per collection. A file that says the same already
// stays as it is, whatever its name; in one that says something else of a job, what differs is changed, and its references
// to secrets stay. It returns the paths of the files that it wrote.
func Export(dir string, all []jobfile.Job) (written []string, err error) {
	there := map[string]*jobfile.Job{}
	if _, err := os.Stat(dir); err == nil {
		d, err := Load(dir, nil, "")
		if err != nil {
			return nil, fmt.Errorf("the files that are there: %w", err)
		}
		if d.Path != dir {
			return nil, fmt.Errorf("%s is in the directory of %s: export into that one", dir, filepath.Join(d.Path, ConfigFile))
		}
		for i := range d.Jobs {
			there[keyOf(d.Jobs[i].Collection, d.Jobs[i].Name)] = &d.Jobs[i]
		}
	}
	edits := map[string][]jobfile.Edited{}
	for i := range all {
		j := &all[i]
		if old := there[keyOf(j.Collection, j.Name)]; old != nil {
			members, err := changed(old, j)
			if err != nil {
				return written, err
			}
			if len(members) > 0 {
				edits[old.File] = append(edits[old.File], jobfile.Edited{Job: *old, Members: members})
			}
			continue
		}
		path := filepath.Join(dir, fileName(j.Collection), fileName(j.Name)+".yaml")
		changed, err := writeFile(path, *j)
		if err != nil {
			return written, err
		}
		if changed {
			written = append(written, path)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(edits)) {
		if err := edit(filepath.FromSlash(file), edits[file]); err != nil {
			return written, fmt.Errorf("%s differs from job %s and cannot be edited: %w; change it, or remove the job there and export again",
				edits[file][0].Job.Place(), edits[file][0].Job.Name, err)
		}
		written = append(written, filepath.FromSlash(file))
	}
	return written, nil
}

// changed returns the members of a file that are not what the server has.
func changed(old, exported *jobfile.Job) (members []jobfile.Member, err error) {
	is, err := readActual(exported.Body(nil), "")
	if err != nil {
		return nil, err
	}
	want, err := definitionOf(old, is, time.Now())
	if err != nil {
		return nil, err
	}
	found, err := differences(&want, &is.definition)
	for _, f := range found {
		members = append(members, jobfile.Member{Path: f.Path, Value: f.To})
	}
	return members, err
}

// edit changes jobs of a file.
func edit(path string, jobs []jobfile.Edited) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	after, err := jobfile.Edit(path, before, jobs)
	if err != nil {
		return err
	}
	if _, err := jobfile.Read(path, after); err != nil {
		return fmt.Errorf("it would be wrong: %w", err)
	}
	return replaceFile(path, after)
}

// writeFile writes a job into a file, unless that has it already.
func writeFile(path string, j jobfile.Job) (bool, error) {
	if fileName(j.Collection) == j.Collection {
		j.Collection = "" // the directory says it
	}
	var text bytes.Buffer
	if err := jobfile.Write(&text, j); err != nil {
		return false, err
	}
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, text.Bytes()) {
		return false, nil
	}
	if err == nil {
		return false, fmt.Errorf("%s is there, and is not of job %s: give it another name, and export again", path, j.Name)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	return true, replaceFile(path, text.Bytes())
}

// replaceFile writes a file whole, or not at all.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".almanac-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		return err
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// fileName returns a name as that of a file: most are. No name has a percent sign.
func fileName(name string) string {
	const most = 200 // bytes; file systems take 255
	safe := name
	if strings.HasPrefix(safe, ".") { // hidden files are not read
		safe = "%2E" + safe[1:]
	}
	if len(safe) > most {
		sum := sha256.Sum256([]byte(name))
		safe = strings.ToValidUTF8(safe[:most-20], "") + fmt.Sprintf("%%%x", sum[:8])
	}
	return safe
}
