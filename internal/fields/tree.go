package fields

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

// A Node is a JSON value as written: a number keeps its digits, an object the order of its members.
type Node struct {
	Kind    Kind
	Text    string  // of a string, number or boolean
	Items   []*Node // of a list
	Entries []Entry // of an object; names are unique
	exact   bool    // of an object: names are case-sensitive
}

// An Entry is a member of a JSON object.
type Entry struct {
	Name  string
	Value *Node
}

// A Kind is a kind of JSON value. Its text is such as "a list".
type Kind int

// The kinds of JSON value.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
)

func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Scalar returns a string, number or boolean, to be shown in errors; nil for other kinds.
func (n *Node) Scalar() any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case String:
		return n.Text
	default:
		return nil
	}
}

// MemberPath returns the path of a member of the object at path, which is empty at the top.
func MemberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// ItemPath returns the path of an element of the list at path.
func ItemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// compared returns the form in which the object's member names are compared.
func (n *Node) compared(name string) string {
	if n.exact {
		return name
	}
	return Normalize(name)
}

// Index returns the index of the member with that name; -1 for none.
func (n *Node) Index(name string) int {
	return slices.IndexFunc(n.Entries, func(e Entry) bool { return n.compared(e.Name) == n.compared(name) })
}

// Member returns the value of the member with that name; nil if it is absent or null.
func (n *Node) Member(name string) *Node {
	if n == nil {
		return nil
	}
	if i := n.Index(name); i >= 0 && n.Entries[i].Value.Kind != Null {
		return n.Entries[i].Value
	}
	return nil
}

// Without returns a copy of the object without the members with these names.
func (n *Node) Without(names ...string) *Node {
	copied := *n
	copied.Entries = slices.Clone(n.Entries)
	for _, name := range names {
		copied.Remove(name)
	}
	return &copied
}

// Merge applies a patch to the object: objects are merged member by member, null removes a member, and
// lists and scalars replace the old value. Both must be objects.
func (n *Node) Merge(patch *Node) {
	for _, e := range patch.Entries {
		i := n.Index(e.Name)
		switch {
		case e.Value.Kind == Null:
			n.Remove(e.Name)
		case i < 0:
			n.Entries = append(n.Entries, e)
		case e.Value.Kind == Object && n.Entries[i].Value.Kind == Object:
			n.Entries[i].Value.Merge(e.Value)
		default:
			n.Entries[i] = e
		}
	}
}

// Remove removes the member with that name.
func (n *Node) Remove(name string) {
	if n == nil {
		return
	}
	if i := n.Index(name); i >= 0 {
		n.Entries = slices.Delete(n.Entries, i, i+1)
	}
}

// Parse parses a body, which must be one JSON object in UTF-8, with or without a byte order mark, of at most
// 32 levels. An object with two members of the same name is an error, because programs disagree on which one
// counts: that error is an [*Errors] of Code Duplicate. Names are compared by [SameName], except in the
// objects that are members named in exact: their names are case-sensitive.
func Parse(body []byte, exact ...string) (*Node, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return nil, malformed(body, invalidUTF8(body), "the text is not UTF-8")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, &SyntaxError{"The body is empty: send a JSON object"}
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
	r := treeReader{decoder: json.NewDecoder(bytes.NewReader(body)), body: body, exact: exact}
	r.decoder.UseNumber()
	tree, err := r.value("", 0, false)
	switch {
	case err != nil:
		return nil, err
	case len(r.repeated.List) > 0:
		return nil, &r.repeated
	case tree.Kind != Object:
		return nil, &SyntaxError{"The body must be a JSON object, not " + tree.Kind.String()}
	}
	return tree, nil
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8.
func invalidUTF8(text []byte) int {
	for offset, r := range string(text) {
		if _, size := utf8.DecodeRune(text[offset:]); r == utf8.RuneError && size == 1 {
			return offset
		}
	}
	return len(text)
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

// A SyntaxError is the error of a body that is not a JSON object.
type SyntaxError struct{ Message string }

func (e *SyntaxError) Error() string { return e.Message }

// malformed returns the error for a body with a JSON error at offset.
func malformed(body []byte, offset int, reason string) error {
	before := body[:max(0, min(offset, len(body)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &SyntaxError{fmt.Sprintf("The body is not valid JSON at line %d, column %d: %s", line, column, reason)}
}

// A treeReader builds nodes from tokens.
type treeReader struct {
	decoder  *json.Decoder
	body     []byte
	exact    []string
	repeated Errors
}

func (r *treeReader) value(path string, depth int, exact bool) (*Node, error) {
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
			return r.object(path, depth, exact)
		}
		return r.list(path, depth)
	case string:
		return &Node{Kind: String, Text: t}, nil
	case json.Number:
		return &Node{Kind: Number, Text: t.String()}, nil
	case bool:
		return &Node{Kind: Bool, Text: fmt.Sprint(t)}, nil
	default:
		return &Node{Kind: Null}, nil
	}
}

func (r *treeReader) object(path string, depth int, exact bool) (*Node, error) {
	n := &Node{Kind: Object, exact: exact}
	names := map[string]string{} // spelling of each name, by the form compared
	for r.decoder.More() {
		name, err := r.value(path, depth+1, false)
		if err != nil {
			return nil, err
		}
		at := MemberPath(path, Shorten(name.Text))
		if before, ok := names[n.compared(name.Text)]; ok {
			e := &Error{Path: at, Code: Duplicate, Allowed: "once"}
			if before != name.Text {
				e.Hint = Show(Shorten(before)) + " is the same field, as case makes no difference"
			}
			r.repeated.Add(e)
		}
		names[n.compared(name.Text)] = name.Text
		named := func(exact string) bool { return SameName(exact, name.Text) }
		value, err := r.value(at, depth+1, slices.ContainsFunc(r.exact, named))
		if err != nil {
			return nil, err
		}
		n.Entries = append(n.Entries, Entry{name.Text, value})
	}
	return n, r.end()
}

func (r *treeReader) list(path string, depth int) (*Node, error) {
	n := &Node{Kind: List}
	for r.decoder.More() {
		item, err := r.value(ItemPath(path, len(n.Items)), depth+1, false)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
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
