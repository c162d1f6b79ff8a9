// Package source reads what a user wrote in YAML or JSON, and knows where in it each member is.
package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/exit"
)

// limit is how many bytes a text has at most, and how many values it may become with its aliases.
const (
	limit     = 1 << 20
	maxValues = 100_000
	maxJSON   = 16 << 20 // bytes
)

// A Document is a text that was read.
type Document struct {
	Name string // of the file, for errors
	JSON json.RawMessage

	text []byte
	root *yaml.Node // nil: where the members are is not known
}

// Read reads a file, or standard input for "-".
func Read(name string, stdin io.Reader) (*Document, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > limit:
		return nil, exit.With(exit.Usage, fmt.Errorf("%s has more than %d bytes", name, limit))
	case name == "-":
		name = "standard input"
	}
	d, err := Parse(name, text)
	return d, exit.With(exit.Usage, err)
}

// Parse reads a text in YAML, of which JSON is a part. It has one document, which is a mapping.
func Parse(name string, text []byte) (*Document, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	isJSON := json.Valid(text)
	if isJSON { // in which blanks are tabs, too
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" "))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, next yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s is empty", name)
		}
		if isObject(text) { // with an escape that YAML does not have
			return &Document{Name: name, JSON: text}, nil
		}
		return nil, located(name, err)
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:%d: a second document begins here, and one is allowed", name, max(next.Line, 1))
	}
	d := &Document{Name: name, text: text, root: doc.Content[0]}
	if d.root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d:%d: a mapping is expected, such as properties: …", name, d.root.Line, d.root.Column)
	}
	if isJSON {
		d.JSON = text
		return d, nil
	}
	var b bytes.Buffer
	w := writer{name: name, to: &b}
	if err := w.write(d.root, 0); err != nil {
		return nil, err
	}
	d.JSON = b.Bytes()
	return d, nil
}

// Comment returns the value of a comment such as "# name: value" before the first member; "" if there is none.
func (d *Document) Comment(name string) string {
	for line := range strings.Lines(string(d.text)) {
		line = strings.TrimSpace(line)
		about, isComment := strings.CutPrefix(line, "#")
		if line != "" && line != "---" && !isComment {
			return ""
		}
		if value, found := strings.CutPrefix(strings.TrimSpace(about), name+":"); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// isObject reports whether a text is a JSON object.
func isObject(text []byte) bool {
	return json.Valid(text) && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

// located returns an error of the YAML parser as others are.
func located(name string, err error) error {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s:%s: %s", name, m[1], m[2])
	}
	return fmt.Errorf("%s: %w", name, err)
}

// A writer writes nodes as JSON, in their order.
type writer struct {
	name   string
	to     *bytes.Buffer
	values int
}

// wrong returns an error about a node.
func (w *writer) wrong(n *yaml.Node, format string, values ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", w.name, n.Line, n.Column, fmt.Sprintf(format, values...))
}

func (w *writer) write(n *yaml.Node, depth int) error {
	if w.values++; w.values > maxValues || depth > 100 {
		return w.wrong(n, "there are too many values, or they are too deep")
	}
	if w.to.Len() > maxJSON {
		return w.wrong(n, "it has more than %d bytes, with what aliases stand for", maxJSON)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.write(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.to.WriteByte('[')
		for i, child := range n.Content {
			if i > 0 {
				w.to.WriteByte(',')
			}
			if err := w.write(child, depth+1); err != nil {
				return err
			}
		}
		w.to.WriteByte(']')
		return nil
	}
	return w.scalar(n)
}

func (w *writer) mapping(n *yaml.Node, depth int) error {
	seen := map[string]bool{}
	w.to.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			return w.wrong(key, "a name is expected")
		case key.Tag == "!!merge":
			return w.wrong(key, "merge keys are not supported: write the members out")
		case seen[key.Value]:
			return w.wrong(key, "%q is there twice", key.Value)
		}
		seen[key.Value] = true
		if i > 0 {
			w.to.WriteByte(',')
		}
		w.text(key.Value)
		w.to.WriteByte(':')
		if err := w.write(value, depth+1); err != nil {
			return err
		}
	}
	w.to.WriteByte('}')
	return nil
}

var number = regexp.MustCompile(`^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$`)

func (w *writer) scalar(n *yaml.Node) error {
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		w.to.WriteString("null")
	case tag == "!!bool":
		w.to.WriteString(strings.ToLower(n.Value))
	case tag == "!!int" && number.MatchString(n.Value), tag == "!!float" && number.MatchString(n.Value):
		w.to.WriteString(n.Value)
	case tag == "!!int", tag == "!!float":
		return w.wrong(n, "%s is not a number in JSON: put it in quotes if it is a text", n.Value)
	case tag == "!!str", tag == "!!timestamp": // a time is a text in the API
		w.text(n.Value)
	default:
		return w.wrong(n, "values of the type %s are not supported", tag)
	}
	return nil
}

func (w *writer) text(s string) {
	e := json.NewEncoder(w.to)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text can be encoded
	w.to.Truncate(w.to.Len() - 1)
}

// Explain returns an error of the API about a document with the file, line and column of each wrong member.
func (d *Document) Explain(err error) error {
	answered, ok := errors.AsType[*client.Error](err)
	if !ok || len(answered.Details) == 0 {
		return err
	}
	lines := make([]string, len(answered.Details))
	for i, detail := range answered.Details {
		lines[i] = d.Position(detail.Target) + ": " + detail.Message
	}
	return exit.With(exit.CodeOf(err), errors.New(strings.Join(lines, "\n")))
}

var step = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// Position returns the file, line and column of a member such as properties.recurrence.schedule.hours[0], or of the
// nearest that is there.
func (d *Document) Position(target string) string {
	at := d.root
	if at == nil {
		return d.Name
	}
	line, column := at.Line, at.Column
	for _, part := range step.FindAllString(target, -1) {
		for at.Kind == yaml.AliasNode {
			at = at.Alias
		}
		next, where := below(at, part)
		if next == nil {
			break
		}
		at, line, column = next, where.Line, where.Column
	}
	return fmt.Sprintf("%s:%d:%d", d.Name, line, column)
}

// below returns a value in a mapping or a list, and the node that says where it is.
func below(at *yaml.Node, part string) (value, where *yaml.Node) {
	if at.Kind == yaml.SequenceNode && strings.HasPrefix(part, "[") {
		if i, err := strconv.Atoi(strings.Trim(part, "[]")); err == nil && i < len(at.Content) {
			return at.Content[i], at.Content[i]
		}
	}
	for i := 0; at.Kind == yaml.MappingNode && i+1 < len(at.Content); i += 2 {
		if strings.EqualFold(at.Content[i].Value, part) {
			return at.Content[i+1], at.Content[i]
		}
	}
	return nil, nil
}
