package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"

	"almanac/cmd/almanac/internal/importer/value"
	"almanac/job/jobfile"
)

// Files returns the files of the jobs that can be written, by their paths: a directory for each collection. The report
// names them.
func (r *Report) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	taken := map[string]bool{}
	for i, d := range r.Drafts {
		if d.Properties == nil || r.Jobs[i].Verdict >= NotYet {
			continue
		}
		j, err := jobFile(d, &r.Jobs[i])
		if err != nil {
			return nil, err
		}
		dir := fileName(d.Collection)
		if dir != d.Collection {
			j.Collection = d.Collection
		}
		name := unique(dir+"/"+fileName(d.Name), taken)
		var b bytes.Buffer
		if err := jobfile.Write(&b, j); err != nil {
			return nil, fmt.Errorf("write job %s: %w", d.Name, err)
		}
		files[name], r.Jobs[i].Written = b.Bytes(), name
	}
	return files, nil
}

// jobFile returns the job of a draft.
func jobFile(d *Draft, report *JobReport) (jobfile.Job, error) {
	properties := d.Properties.Clone()
	properties.Walk("", func(p string, v *value.Value) bool {
		last := strings.ToLower(p[strings.LastIndexByte(p, '.')+1:])
		if v.Kind == value.Env && writeOnly[last] {
			*v = value.Value{Kind: value.String, Text: jobfile.Env(v.Text).Text(), Line: v.Line}
		}
		return true
	})
	text, err := json.Marshal(properties)
	if err != nil {
		return jobfile.Job{}, err
	}
	j, err := jobfile.New("", d.Name, json.RawMessage(text))
	if err != nil {
		return j, err
	}
	comments := []string{fmt.Sprintf("from %s, line %d: %s", path.Base(d.File), d.Line, report.words())}
	for _, f := range d.Findings {
		if f.Verdict > Same {
			comments = append(comments, f.line(report))
		}
	}
	j.Comment = strings.Join(comments, "\n") + "\n"
	return j, nil
}

// fileName returns a name as that of a file on any system.
func fileName(name string) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._- ", r) {
			return r
		}
		return '_'
	}, name)
	text = strings.Trim(text, ". ")
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60])
	}
	switch strings.ToLower(text) {
	case "", "con", "prn", "aux", "nul", "almanac":
		text = "_" + text
	}
	return text
}

// unique returns a path with its ending that no other file has, in any case of its letters.
func unique(name string, taken map[string]bool) string {
	full := name + ".yaml"
	for n := 2; taken[strings.ToLower(full)]; n++ {
		full = name + "-" + strconv.Itoa(n) + ".yaml"
	}
	taken[strings.ToLower(full)] = true
	return full
}

// ErrExists is the error of a file that is there already.
var ErrExists = errors.New("exists")

// WriteFiles writes files below a directory, which is made. Unless overwrite is set, none is written if one of them is
// there with something else in it: the error wraps [ErrExists].
func WriteFiles(dir string, files map[string][]byte, overwrite bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, text := range files {
		there, err := root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && (overwrite || bytes.Equal(there, text)):
		case err == nil:
			return fmt.Errorf("%s %w with something else in it; nothing was written: choose another --out, or --overwrite", path.Join(dir, name), ErrExists)
		default:
			return err
		}
	}
	for name, text := range files {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
