// Package output prints what commands of the client answer: tables for people, and JSON, YAML, names and parts of them
// for programs. What it prints on a terminal has no control characters of others.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/theory/jsonpath"
	"go.yaml.in/yaml/v3"

	"almanac/internal/fields"
)

// A Format says how an answer is printed. The zero value is a table.
type Format struct {
	kind string         // "" for a table
	path *jsonpath.Path // of the kind jsonpath
}

// Words are the formats, for completion.
var Words = []string{"table", "wide", "json", "yaml", "name", "jsonpath="}

// ParseFormat reads a format.
func ParseFormat(text string) (Format, error) {
	expression, isPath := strings.CutPrefix(text, "jsonpath=")
	switch {
	case isPath:
		path, err := jsonpath.Parse(rooted(expression))
		if err != nil {
			return Format{}, fmt.Errorf("%q is not a JSON path: %w", expression, err)
		}
		return Format{"jsonpath", path}, nil
	case text == "" || text == "table":
		return Format{}, nil
	case text == "wide" || text == "json" || text == "yaml" || text == "name":
		return Format{kind: text}, nil
	}
	if near := fields.Nearest(text, Words); near != "" {
		return Format{}, fmt.Errorf("unknown value %q, did you mean %s?", text, near)
	}
	return Format{}, fmt.Errorf("unknown value %q", text)
}

// rooted returns a path of RFC 9535 for one that may be written as for kubectl: {.a.b}, or .a.b.
func rooted(expression string) string {
	if strings.HasPrefix(expression, "{") && strings.HasSuffix(expression, "}") {
		expression = expression[1 : len(expression)-1]
	}
	switch {
	case strings.HasPrefix(expression, "$"):
		return expression
	case strings.HasPrefix(expression, ".") || strings.HasPrefix(expression, "["):
		return "$" + expression
	}
	return "$." + expression
}

// ForPeople reports whether the format is a table.
func (f Format) ForPeople() bool { return f.kind == "" || f.kind == "wide" }

// Wide reports whether all columns are shown.
func (f Format) Wide() bool { return f.kind == "wide" }

// YAML reports whether it is YAML, which may have comments.
func (f Format) YAML() bool { return f.kind == "yaml" }

// A Printer prints in a format.
type Printer struct {
	Out      io.Writer
	Format   Format
	Width    int  // of the terminal; 0: any
	Terminal bool // Out is one
	Colour   bool
	NoHeads  bool // tables have no line of headings
	Now      time.Time
	Zone     *time.Location // of the times in tables
}

// Value prints a value for programs, in a format that is not for people. name has its name.
func (p *Printer) Value(value any, name string) error {
	switch p.Format.kind {
	case "name":
		_, err := fmt.Fprintln(p.Out, Line(name))
		return err
	case "yaml":
		text, err := YAML(value)
		if err == nil {
			_, err = io.WriteString(p.Out, text)
		}
		return err
	case "jsonpath":
		return p.found(value)
	}
	text, err := asJSON(value)
	if err == nil {
		_, err = io.WriteString(p.Out, EscapedJSON(text))
	}
	return err
}

func asJSON(value any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.String(), err
}

// YAML returns a value as YAML, with its members as in its JSON.
func YAML(value any) (string, error) {
	text, err := asJSON(value)
	if err != nil {
		return "", err
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(EscapedJSON(text)), &node); err != nil { // JSON is YAML
		return "", err
	}
	blockStyle(&node)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(&node), e.Close()); err != nil {
		return "", err
	}
	return EscapedJSON(b.String()), nil
}

// blockStyle has nodes written as people write them. Texts with control characters stay in quotes.
func blockStyle(n *yaml.Node) {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		n.Style = 0
	case n.Kind == yaml.SequenceNode && !plainValues(n):
		n.Style = 0
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
		n.Style = styleOf(n.Value)
	}
	for _, child := range n.Content {
		blockStyle(child)
	}
}

func styleOf(text string) yaml.Style {
	switch bad := func(r rune) bool { return unsafe(r) && r != '\n' }; {
	case strings.IndexFunc(text, bad) >= 0:
		return yaml.DoubleQuotedStyle
	case strings.Contains(text, "\n") && !strings.HasPrefix(text, " "):
		return yaml.LiteralStyle
	}
	return 0
}

// plainValues reports whether a list has only values such as numbers and days, and fits a line.
func plainValues(n *yaml.Node) bool {
	size := 0
	for _, child := range n.Content {
		if child.Kind != yaml.ScalarNode {
			return false
		}
		size += len(child.Value) + 2
	}
	return size < 80
}

// found prints what a path finds, a line each: texts as they are, others as JSON.
func (p *Printer) found(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var plain any
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&plain); err != nil {
		return err
	}
	for _, one := range p.Format.path.Select(plain) {
		text, isText := one.(string)
		switch {
		case isText && p.Terminal:
			text = Clean(text)
		case !isText:
			raw, err := json.Marshal(one)
			if err != nil {
				return err
			}
			text = EscapedJSON(string(raw))
		}
		if _, err := fmt.Fprintln(p.Out, text); err != nil {
			return err
		}
	}
	return nil
}
