package jobfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"almanac/internal/fields"
)

// A Member is a member of the properties of a job with another value.
type Member struct {
	Path  string          // such as recurrence.schedule.hours
	Value json.RawMessage // nil: the member is taken out
}

// An Edited is a job that was read from a file, and the members that have other values.
type Edited struct {
	Job     Job
	Members []Member
}

// Edit returns the text of a file of YAML in which members of some of its jobs have other values. All others, comments and
// the order of members stay.
func Edit(file string, text []byte, jobs []Edited) ([]byte, error) {
	if strings.EqualFold(path.Ext(file), ".json") {
		return nil, errors.New("files of JSON are not edited")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(indentOf(text))
	edited := 0
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, yamlProblem(file, err)
		}
		var found []*yaml.Node // before anything moves
		for _, j := range jobs {
			found = append(found, find(&document, j.Job.Place()))
		}
		for i, of := range found {
			if of == nil {
				continue
			}
			edited++
			for _, m := range jobs[i].Members {
				if err := set(propertiesIn(of), steps(m.Path), m); err != nil {
					return nil, err
				}
			}
		}
		if err := encoder.Encode(&document); err != nil {
			return nil, err
		}
	}
	if edited < len(jobs) {
		return nil, errors.New("a job is not there any more")
	}
	return out.Bytes(), encoder.Close()
}

// indentOf returns how far the lines of a text are indented.
func indentOf(text []byte) int {
	for line := range strings.Lines(string(text)) {
		if by := len(line) - len(strings.TrimLeft(line, " ")); by > 1 && by <= 8 && !strings.HasPrefix(line[by:], "#") {
			return by
		}
	}
	return 2
}

// find returns the object at a place of a document: a job is the whole of it, or an item of a list.
func find(document *yaml.Node, at Place) *yaml.Node {
	for _, n := range document.Content {
		items := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			items = n.Content
		}
		for _, item := range items {
			if item.Kind == yaml.MappingNode && item.Line == at.Line && item.Column == at.Column {
				return item
			}
		}
	}
	return nil
}

func propertiesIn(of *yaml.Node) *yaml.Node {
	if inner := child(of, "properties"); inner != nil {
		return inner
	}
	return of
}

// set changes a member below an object.
func set(n *yaml.Node, path []string, c Member) error {
	if n.Kind == yaml.AliasNode {
		return fmt.Errorf("%s is shared with other jobs, by an alias", c.Path)
	}
	inner := child(n, path[0])
	switch {
	case inner != nil && len(path) > 1:
		return set(inner, path[1:], c)
	case n.Kind == yaml.MappingNode && child(n, "<<") != nil && inner == nil:
		return fmt.Errorf("%s may be shared with other jobs, by a merge key", c.Path)
	case n.Kind != yaml.MappingNode && inner == nil:
		return fmt.Errorf("%s is not in the file", c.Path)
	case c.Value == nil:
		remove(n, path[0])
		return nil
	}
	all, err := readJSON(c.Path, c.Value)
	if err != nil || len(all) != 1 {
		return fmt.Errorf("%s has no value: %w", c.Path, err)
	}
	value := all[0]
	written(value, "."+c.Path, contracts())
	switch {
	case inner != nil:
		value.HeadComment, value.LineComment, value.FootComment = inner.HeadComment, inner.LineComment, inner.FootComment
		if inner.Kind == value.Kind && inner.Kind == yaml.SequenceNode {
			value.Style = inner.Style
		}
		*inner = *value
	case len(path) > 1:
		object := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		n.Content = append(n.Content, text(path[0]), object)
		return set(object, path[1:], c)
	default:
		n.Content = append(n.Content, text(path[0]), value)
	}
	return nil
}

func remove(n *yaml.Node, name string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if fields.SameName(n.Content[i].Value, name) {
			n.Content = append(n.Content[:i], n.Content[i+2:]...)
			return
		}
	}
}
