package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep a body may be nested; a job needs seven levels.
const maxDepth = 32

// A node is a JSON value as it was written: a number keeps its digits, an
// object the order of its members.
type node struct {
	kind    nodeKind
	text    string  // of a string, a number or a boolean
	items   []*node // of a list
	entries []entry // of an object; each name once
}

// An entry is a member of a JSON object.
type entry struct {
	name  string
	value *node
}

type nodeKind int

const (
	jsonNull nodeKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonList
	jsonObject
)

func (k nodeKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// scalar returns a string, number or boolean for showing, and nil for anything else.
func (n *node) scalar() any {
	switch n.kind {
	case jsonBool:
		return n.text == "true"
	case jsonNumber:
		return json.Number(n.text)
	case jsonString:
		return n.text
	default:
		return nil
	}
}

// sameName reports whether two names differ at most in the case of ASCII
// letters: folding alone would take the Kelvin sign for a k.
func sameName(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// index returns where the member of that name, in any case, is; of several
// the last. It returns -1 where there is none.
func (n *node) index(name string) int {
	for i, e := range slices.Backward(n.entries) {
		if sameName(e.name, name) {
			return i
		}
	}
	return -1
}

// member returns the value of that name, in any case, or nil where there is
// none or it is null.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	if i := n.index(name); i >= 0 && n.entries[i].value.kind != jsonNull {
		return n.entries[i].value
	}
	return nil
}

// remove drops every member of that name, in any case.
func (n *node) remove(name string) {
	if n != nil {
		n.entries = slices.DeleteFunc(n.entries, func(e entry) bool { return sameName(e.name, name) })
	}
}

// set adds a member, or replaces the one of exactly that name.
func (n *node) set(name string, value *node) {
	if i := slices.IndexFunc(n.entries, func(e entry) bool { return e.name == name }); i >= 0 {
		n.entries[i].value = value
		return
	}
	n.entries = append(n.entries, entry{name, value})
}

// parseObject reads a body that must be one JSON object, in UTF-8 with or
// without a byte order mark. Of members of the same name the last one counts.
func parseObject(body []byte) (*node, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return nil, malformed(body, invalidUTF8(body), "the text is not UTF-8")
	}
	// A decoder that reads token by token misplaces errors; the check of the whole does not.
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		offset := 0
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			offset = int(syntax.Offset) - 1
		}
		return nil, malformed(body, offset, err.Error())
	}
	r := treeReader{decoder: json.NewDecoder(bytes.NewReader(body)), body: body}
	r.decoder.UseNumber()
	tree, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if tree.kind != jsonObject {
		return nil, badRequest("The body is not a job or a collection: want a JSON object, not %s", tree.kind)
	}
	return tree, nil
}

func invalidUTF8(text []byte) int {
	offset := 0
	for offset < len(text) {
		r, size := utf8.DecodeRune(text[offset:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		offset += size
	}
	return offset
}

// malformed returns the error for a body that is no JSON from offset on.
func malformed(body []byte, offset int, reason string) *Error {
	before := body[:max(0, min(offset, len(body)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return badRequest("The body is not valid JSON at line %d, column %d: %s", line, column, reason)
}

// A treeReader turns tokens into nodes.
type treeReader struct {
	decoder *json.Decoder
	body    []byte
}

func (r *treeReader) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, malformed(r.body, int(r.decoder.InputOffset()), fmt.Sprintf("more than %d levels", maxDepth))
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, malformed(r.body, int(r.decoder.InputOffset()), err.Error())
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return r.object(depth)
		}
		return r.list(depth)
	case string:
		return &node{kind: jsonString, text: t}, nil
	case json.Number:
		return &node{kind: jsonNumber, text: t.String()}, nil
	case bool:
		return &node{kind: jsonBool, text: fmt.Sprint(t)}, nil
	default:
		return &node{kind: jsonNull}, nil
	}
}

func (r *treeReader) object(depth int) (*node, error) {
	n := &node{kind: jsonObject}
	for r.decoder.More() {
		name, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.set(name.text, value)
	}
	return n, r.end()
}

func (r *treeReader) list(depth int) (*node, error) {
	n := &node{kind: jsonList}
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, r.end()
}

// end reads the bracket that closes an object or a list.
func (r *treeReader) end() error {
	if _, err := r.decoder.Token(); err != nil {
		return malformed(r.body, int(r.decoder.InputOffset()), err.Error())
	}
	return nil
}
