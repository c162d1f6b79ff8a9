package jobfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"almanac/internal/fields"
)

// A Job is a job of a file.
type Job struct {
	Collection string // "": that of the directory
	Name       string
	Comment    string // above the job, without the marks of a comment; only written

	// Properties are the properties of the job in the API, with references in place of secrets.
	Properties *yaml.Node

	File  string     // that it was read from
	node  *yaml.Node // all of the job
	named bool       // the name is in the file
}

// A Place is where something is in a file. The zero Line means that it is not known.
type Place struct {
	File         string
	Line, Column int
}

// String returns the place as compilers and editors write it.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A Problem is what is wrong at a place.
type Problem struct {
	At      Place
	Message string
}

// Error returns the place and what is wrong.
func (p *Problem) Error() string { return p.At.String() + ": " + p.Message }

// New returns a job with properties such as those of package client, or the JSON of them. A secret of them that
// [Reference.Text] returned becomes that reference. What only answers have, such as the status, is left out.
func New(collection, name string, properties any) (Job, error) {
	text, err := fields.PlainJSON(properties)
	if err != nil {
		return Job{}, fmt.Errorf("the properties of job %s: %w", name, err)
	}
	all, err := readJSON(name, text)
	if err != nil {
		return Job{}, err
	}
	if len(all) != 1 || all[0].Kind != yaml.MappingNode {
		return Job{}, fmt.Errorf("the properties of job %s are no object", name)
	}
	j := Job{Collection: collection, Name: name, Properties: all[0], File: name, named: true}
	written(j.Properties, "", contracts())
	return j, nil
}

// At returns where a member of the properties is, such as properties.recurrence.schedule.hours[1], or the nearest one
// around it.
func (j Job) At(member string) Place {
	n := j.Properties
	member, _ = strings.CutPrefix(member, "properties")
	for _, step := range steps(strings.TrimPrefix(member, ".")) {
		inner := child(n, step)
		if inner == nil {
			break
		}
		n = inner
	}
	if n == nil {
		return Place{File: j.File}
	}
	return Place{j.File, n.Line, n.Column}
}

// Has reports whether a job has a member of the properties, such as recurrence.cron, that is not null.
func (j Job) Has(member string) bool {
	n := j.Properties
	for _, step := range steps(member) {
		n = child(n, step)
	}
	return n != nil && !isNull(n)
}

// With returns a copy of the job with a text as a member of the properties.
func (j Job) With(member, value string) Job {
	j.Properties = replaced(j.Properties, steps(member), text(value))
	return j
}

// WithNull returns a copy of the job with null as a member of the properties.
func (j Job) WithNull(member string) Job {
	j.Properties = replaced(j.Properties, steps(member), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"})
	return j
}

// Without returns a copy of the job without a member of the properties.
func (j Job) Without(member string) Job {
	j.Properties = replaced(j.Properties, steps(member), nil)
	return j
}

// replaced returns a copy of an object with another value, or none, for what is at a path. An object that would be
// around it and is not there is not made.
func replaced(n *yaml.Node, path []string, value *yaml.Node) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return n
	}
	copied := *n
	copied.Content = slices.Clone(n.Content)
	for i := 0; i+1 < len(copied.Content); i += 2 {
		switch {
		case !fields.SameName(copied.Content[i].Value, path[0]):
		case len(path) > 1:
			copied.Content[i+1] = replaced(copied.Content[i+1], path[1:], value)
			return &copied
		case value == nil:
			copied.Content = slices.Delete(copied.Content, i, i+2)
			return &copied
		default:
			copied.Content[i+1] = value
			return &copied
		}
	}
	if value != nil && len(path) == 1 {
		copied.Content = append(copied.Content, text(path[0]), value)
	}
	return &copied
}

// Place returns where the job begins.
func (j Job) Place() Place {
	if j.node == nil {
		return Place{File: j.File}
	}
	return Place{j.File, j.node.Line, j.node.Column}
}

// steps returns the names and indexes of a path such as a.b[1].
func steps(member string) (all []string) {
	for part := range strings.SplitSeq(member, ".") {
		name, index, listed := strings.Cut(part, "[")
		if name != "" {
			all = append(all, name)
		}
		for listed {
			var number string
			number, index, listed = strings.Cut(index, "[")
			all = append(all, strings.TrimSuffix(number, "]"))
		}
	}
	return all
}

// child returns a member of an object, whose names compare without case, or an element of a list; nil for none.
func child(n *yaml.Node, step string) *yaml.Node {
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if fields.SameName(n.Content[i].Value, step) {
				return n.Content[i+1]
			}
		}
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}

// Body returns the body of a PUT of the job. Secrets are by the paths of their references; one that is not there is
// left out.
func (j Job) Body(secrets map[string]string) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"properties":`)
	writeJSON(&b, j.Properties, "properties", secrets)
	b.WriteString("}")
	return b.Bytes()
}

// writeJSON writes a node of a job that was read, at a path, as JSON.
func writeJSON(b *bytes.Buffer, n *yaml.Node, at string, secrets map[string]string) {
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		first := true
		for i := 0; i+1 < len(n.Content); i += 2 {
			value, path := n.Content[i+1], fields.MemberPath(at, n.Content[i].Value)
			secret, resolved := secrets[path]
			if _, is := referenceIn(value); is && contracts().secret(path) {
				if !resolved {
					continue
				}
				value = text(secret)
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.Write(quoted(n.Content[i].Value))
			b.WriteByte(':')
			writeJSON(b, value, path, secrets)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item, fields.ItemPath(at, i), secrets)
		}
		b.WriteByte(']')
	default:
		if n.ShortTag() == "!!str" {
			b.Write(quoted(n.Value))
		} else {
			b.WriteString(n.Value)
		}
	}
}

func quoted(s string) []byte {
	text, _ := fields.PlainJSON(s) // a string always has a JSON form
	return text
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// stem returns the name of a file without its directory and its ending.
func stem(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	return strings.TrimSuffix(base, path.Ext(base))
}
