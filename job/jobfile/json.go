package jobfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// readJSON returns the values of a text of JSON, one after the other.
func readJSON(file string, text []byte) ([]*yaml.Node, error) {
	if !utf8.Valid(text) {
		return nil, &Problem{Place{File: file}, "the text is not UTF-8"}
	}
	r := jsonReader{file: file, text: text, line: 1, decoder: json.NewDecoder(bytes.NewReader(text))}
	r.decoder.UseNumber()
	var all []*yaml.Node
	for {
		n, err := r.value(0)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

// A jsonReader makes nodes of tokens.
type jsonReader struct {
	file    string
	text    []byte
	decoder *json.Decoder
	seen    int // the offset up to which lines are counted
	line    int
	start   int // of the line
}

// place returns where the next token begins.
func (r *jsonReader) place() Place {
	offset := int(r.decoder.InputOffset())
	for offset < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[offset]) >= 0 {
		offset++
	}
	for ; r.seen < offset; r.seen++ {
		if r.text[r.seen] == '\n' {
			r.line, r.start = r.line+1, r.seen+1
		}
	}
	return Place{r.file, r.line, utf8.RuneCount(r.text[r.start:min(offset, len(r.text))]) + 1}
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	at := r.place()
	if depth > maxDepth {
		return nil, &Problem{at, fmt.Sprintf("more than %d levels", maxDepth)}
	}
	token, err := r.decoder.Token()
	if errors.Is(err, io.EOF) && depth == 0 {
		return nil, io.EOF
	}
	if err != nil {
		return nil, &Problem{at, "the text is not valid JSON: " + jsonReason(err)}
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: at.Line, Column: at.Column}
	switch t := token.(type) {
	case json.Delim:
		return n, r.inside(n, t, depth)
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}

// inside reads an object or a list.
func (r *jsonReader) inside(n *yaml.Node, begun json.Delim, depth int) error {
	n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	if begun == '{' {
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
	}
	for r.decoder.More() {
		inner, err := r.value(depth + 1) // a name, or a value
		if err != nil {
			return err
		}
		n.Content = append(n.Content, inner)
	}
	at := r.place()
	if _, err := r.decoder.Token(); err != nil {
		return &Problem{at, "the text is not valid JSON: " + jsonReason(err)}
	}
	return nil
}

func jsonReason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends before the object does"
	}
	return err.Error()
}
