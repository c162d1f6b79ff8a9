package jobfile

import (
	"bytes"
	"io"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"almanac/internal/fields"
)

// Write writes jobs in YAML, a document each. Two writes of the same jobs are the same bytes, and [Read] returns what was
// written.
func Write(w io.Writer, jobs ...Job) error {
	var b bytes.Buffer
	for i, j := range jobs {
		if i > 0 {
			b.WriteString("---\n")
		}
		if err := writeJob(&b, j); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func writeJob(b *bytes.Buffer, j Job) error {
	for line := range strings.Lines(j.Comment) {
		b.WriteString(strings.TrimRight("# "+printable(line), " ") + "\n")
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if j.Collection != "" {
		n.Content = append(n.Content, text("collection"), styled(text(j.Collection)))
	}
	n.Content = append(n.Content, text("name"), styled(text(j.Name)))
	if j.Properties != nil {
		n.Content = append(n.Content, j.Properties.Content...)
	}
	return encode(b, n)
}

// encode writes a value in YAML.
func encode(w io.Writer, n *yaml.Node) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return err
	}
	return e.Close()
}

// printable returns a line of a comment without what would end it, or confuse who reads it.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, line)
}

// written gives the values of properties at a path, below "properties", the style of a file, and takes out what only
// answers have.
func written(n *yaml.Node, at string, of contract) {
	n.Line, n.Column = 0, 0
	switch n.Kind {
	case yaml.MappingNode:
		var kept []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			inner := at + "." + key.Value
			if of.answered("properties"+inner) || isNull(value) {
				continue
			}
			if r, is := marked(value.Value); is && of.secret("properties"+inner) {
				value = r.node()
			} else {
				written(value, inner, of)
			}
			kept = append(kept, key, value)
		}
		n.Content = kept
		if len(kept) == 0 {
			n.Style = yaml.FlowStyle
		}
	case yaml.SequenceNode:
		scalars := true
		for i, item := range n.Content {
			written(item, fields.ItemPath(at, i), of)
			scalars = scalars && item.Kind == yaml.ScalarNode
		}
		if scalars {
			n.Style = yaml.FlowStyle
		}
	default:
		if n.Tag == "!!float" && !strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!int"
		}
		styled(n)
	}
}

// styled gives a text a style in which it is read again as it is.
func styled(n *yaml.Node) *yaml.Node {
	if n.ShortTag() != "!!str" {
		return n
	}
	s := n.Value
	switch {
	case strings.Contains(s, "\n") && isBlock(s):
		n.Style = yaml.LiteralStyle
	case strings.Contains(s, "\n"), s != strings.TrimSpace(s), strings.ContainsFunc(s, unprintable), ambiguous[strings.ToLower(s)]:
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// ambiguous are texts that readers of YAML may take for a boolean, or for more than a text.
var ambiguous = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "<<": true}

func unprintable(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

// isBlock reports whether a text of several lines is the same as a literal block.
func isBlock(s string) bool {
	if s != strings.TrimLeft(s, " \n") || strings.HasSuffix(s, "\n\n") || strings.ContainsFunc(s, unprintable) {
		return false
	}
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		if line != strings.TrimRight(line, " ") {
			return false
		}
	}
	return true
}
