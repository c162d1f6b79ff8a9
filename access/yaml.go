package access

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxMistakes is the limit of listed mistakes.
const maxMistakes = 10

// A YAMLReader reads the YAML files that people write, and collects the mistakes in one. Each is reported with its line
// and its place, as "line 7: assignments[2].role: what is wrong; allowed: what is allowed". These files grant access,
// so nothing in them is passed over or guessed, as package fields does for Azure's clients: names compare with their
// case, null is no value, and one value is no list. The zero value is ready to use.
type YAMLReader struct {
	errs []error
	more int
}

// ParseYAML returns the root of a file with one document; nil for one that is empty.
func ParseYAML(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("a second document begins before line %d; allowed: one", max(second.Line, 1))
	}
	return document.Content[0], nil
}

// CheckEnd notes a mistake if the text of a document ends in the middle of a line, in a value that is neither quoted
// nor in brackets. A file that was cut off, as by a full disk, could otherwise mean more than the whole: "scope: /"
// more than "scope: /jobCollections/payroll".
func (r *YAMLReader) CheckEnd(root *yaml.Node, text []byte) {
	end := lastNode(root)
	if end.Kind == yaml.ScalarNode && end.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 &&
		end.Value != "" && strings.HasSuffix(string(text), end.Value) {
		problem := fmt.Sprintf("the file ends in the middle of a line, so what follows %.40q may be missing", end.Value)
		r.Fail(end, "", problem, "a line end after the last line")
	}
}

// lastNode returns the last node of a document, below n.
func lastNode(n *yaml.Node) *yaml.Node {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	return n
}

// Fail notes a mistake at a node. problem says what is wrong; allowed may be empty.
func (r *YAMLReader) Fail(n *yaml.Node, path, problem, allowed string) {
	if len(r.errs) == maxMistakes {
		r.more++
		return
	}
	text := fmt.Sprintf("line %d: %s: %s", n.Line, path, problem)
	if path == "" {
		text = fmt.Sprintf("line %d: %s", n.Line, problem)
	}
	if allowed != "" {
		text += "; allowed: " + allowed
	}
	r.errs = append(r.errs, errors.New(text))
}

// Err returns all mistakes; nil if there is none.
func (r *YAMLReader) Err() error {
	if r.more > 0 {
		return errors.Join(append(slices.Clone(r.errs), fmt.Errorf("and %d more mistakes", r.more))...)
	}
	return errors.Join(r.errs...)
}

// Mapping returns the values of a mapping in the order of the known names, nil for those that it lacks. Names compare
// with their case. ok is false if n is no mapping; unknown and repeated names are mistakes.
func (r *YAMLReader) Mapping(n *yaml.Node, path string, known ...string) (values []*yaml.Node, ok bool) {
	values = make([]*yaml.Node, len(known))
	if n.Kind != yaml.MappingNode {
		r.Fail(n, path, "it is no mapping", "a mapping with "+strings.Join(known, ", "))
		return values, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		k := slices.Index(known, name.Value)
		switch {
		case k < 0:
			r.Fail(name, joinPath(path, fmt.Sprintf("%.40s", name.Value)), "there is no such member", strings.Join(known, ", "))
		case values[k] != nil:
			r.Fail(name, joinPath(path, name.Value), "the member is there twice", "once")
		default:
			values[k] = value
		}
	}
	return values, true
}

// Sequence returns the elements of a list; none for nil or null.
func (r *YAMLReader) Sequence(n *yaml.Node, path string) []*yaml.Node {
	switch {
	case n == nil || n.Tag == "!!null":
		return nil
	case n.Kind != yaml.SequenceNode:
		r.Fail(n, path, "it is no list", "a list, each of whose lines begins with a hyphen")
		return nil
	}
	return n.Content
}

// Text returns a text that is not empty, "" with a mistake otherwise. parent is blamed for a missing member.
func (r *YAMLReader) Text(n, parent *yaml.Node, path string) string {
	switch {
	case n == nil:
		r.Fail(parent, path, "it is missing", "")
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "":
		r.Fail(n, path, "it is no text", "a text that is not empty")
	default:
		return n.Value
	}
	return ""
}

// LastLine returns the last line that a node has content on.
func LastLine(n *yaml.Node) int {
	last := n.Line
	if n.Kind == yaml.ScalarNode {
		last += strings.Count(n.Value, "\n")
	}
	for _, inner := range n.Content {
		last = max(last, LastLine(inner))
	}
	return last
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
