package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the limit of nesting in a body. A job needs seven levels.
const maxDepth = 32

// A node is a JSON value as written: a number keeps its digits, an object the order of its members.
type node struct {
	kind    nodeKind
	text    string  // of a string, number or boolean
	items   []*node // of a list
	entries []entry // of an object; names are unique
	exact   bool    // of an object: names are case-sensitive
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

// scalar returns a string, number or boolean, to be shown in errors; nil for other kinds.
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

// sameName reports whether two names are equal under [NormalizeName].
func sameName(a, b string) bool { return len(a) == len(b) && NormalizeName(a) == NormalizeName(b) }

// memberPath returns the path of a member of the object at path, which is empty at the top.
func memberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// itemPath returns the path of an element of the list at path.
func itemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// compared returns the form in which the object's member names are compared.
func (n *node) compared(name string) string {
	if n.exact {
		return name
	}
	return NormalizeName(name)
}

// index returns the index of the member with that name; -1 for none.
func (n *node) index(name string) int {
	return slices.IndexFunc(n.entries, func(e entry) bool { return n.compared(e.name) == n.compared(name) })
}

// member returns the value of the member with that name; nil if it is absent or null.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	if i := n.index(name); i >= 0 && n.entries[i].value.kind != jsonNull {
		return n.entries[i].value
	}
	return nil
}

// remove removes the member with that name.
func (n *node) remove(name string) {
	if n == nil {
		return
	}
	if i := n.index(name); i >= 0 {
		n.entries = slices.Delete(n.entries, i, i+1)
	}
}

// parseObject parses a body, which must be one JSON object in UTF-8, with or without a byte order mark. An
// object with two members of the same name is an error, because programs disagree on which one counts.
// Names are compared without case, also those of headers and tags, except for a message's custom
// properties: their names are case-sensitive in Service Bus.
func parseObject(body []byte) (*node, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return nil, malformed(body, invalidUTF8(body), "the text is not UTF-8")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, badRequest("The body is empty: send a JSON object")
	}
	// The token decoder reports wrong offsets of errors; Unmarshal of the whole body does not.
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		offset, reason := syntaxError(body, err)
		return nil, malformed(body, offset, reason)
	}
	if offset := loneSurrogate(body); offset >= 0 {
		return nil, malformed(body, offset, string(body[offset:offset+6])+" is one half of a pair of surrogates, which is no character by itself")
	}
	r := treeReader{decoder: json.NewDecoder(bytes.NewReader(body)), body: body, repeated: newBinder(nil)}
	r.decoder.UseNumber()
	tree, err := r.value("", 0)
	if err != nil {
		return nil, err
	}
	if err := r.repeated.err("body"); err != nil {
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

// loneSurrogate returns the offset of the first \u escape in a JSON text that is one half of a surrogate
// pair without the other half; -1 for none. The decoder would silently replace it.
func loneSurrogate(text []byte) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		first := escaped(text[i:])
		switch {
		case first < 0:
			i++ // the escaped character may be a backslash
		case !utf16.IsSurrogate(first):
			i += 5
		case utf16.DecodeRune(first, escaped(text[i+6:])) == utf8.RuneError:
			return i
		default:
			i += 11
		}
	}
	return -1
}

// escaped returns the UTF-16 code unit of the \u escape at the start of a JSON text; -1 if there is none.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}

// syntaxError returns the offset of a JSON error, and its reason for people.
func syntaxError(body []byte, err error) (offset int, reason string) {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return 0, err.Error()
	}
	offset = max(int(syntax.Offset)-1, 0)
	before, rest := bytes.TrimRight(body[:offset], " \t\r\n"), body[offset:]
	switch {
	case syntax.Error() == "unexpected end of JSON input":
		return offset, "the text ends before the object does"
	case strings.HasSuffix(syntax.Error(), "in string escape code"):
		letter, _ := utf8.DecodeRune(rest)
		return offset - 1, fmt.Sprintf("\\%c is no escape; write a backslash as two", letter)
	case rest[0] == '\'':
		return offset, "names and strings stand in double quotes, not in single ones"
	case (rest[0] == '}' || rest[0] == ']') && bytes.HasSuffix(before, []byte(",")):
		return len(before) - 1, fmt.Sprintf("nothing follows this comma but %c; leave the comma out", rest[0])
	}
	return offset, syntax.Error()
}

// malformed returns the error for a body with a JSON error at offset.
func malformed(body []byte, offset int, reason string) *Error {
	before := body[:max(0, min(offset, len(body)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return badRequest("The body is not valid JSON at line %d, column %d: %s", line, column, reason)
}

// A treeReader builds nodes from tokens.
type treeReader struct {
	decoder  *json.Decoder
	body     []byte
	repeated *binder // collects errors of repeated members
}

func (r *treeReader) value(path string, depth int) (*node, error) {
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
			return r.object(path, depth)
		}
		return r.list(path, depth)
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

func (r *treeReader) object(path string, depth int) (*node, error) {
	n := &node{kind: jsonObject, exact: strings.HasSuffix(NormalizeName(path), ".custommessageproperties")}
	names := map[string]string{} // spelling of each name, by the form compared
	for r.decoder.More() {
		name, err := r.value(path, depth+1)
		if err != nil {
			return nil, err
		}
		at := memberPath(path, shorten(name.text))
		if before, ok := names[n.compared(name.text)]; ok {
			r.repeated.fail(at, nil, onlyOnce(name.text, before))
		}
		names[n.compared(name.text)] = name.text
		value, err := r.value(at, depth+1)
		if err != nil {
			return nil, err
		}
		n.entries = append(n.entries, entry{name.text, value})
	}
	return n, r.end()
}

// onlyOnce returns what is allowed instead of a repeated member.
func onlyOnce(name, before string) string {
	if name == before {
		return "this member once"
	}
	return "this member once; " + show(shorten(before)) + " is the same one, as case makes no difference"
}

func (r *treeReader) list(path string, depth int) (*node, error) {
	n := &node{kind: jsonList}
	for r.decoder.More() {
		item, err := r.value(itemPath(path, len(n.items)), depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, r.end()
}

// end reads the closing bracket of an object or a list.
func (r *treeReader) end() error {
	if _, err := r.decoder.Token(); err != nil {
		return malformed(r.body, int(r.decoder.InputOffset()), err.Error())
	}
	return nil
}
