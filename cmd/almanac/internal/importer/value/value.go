// Package value has the values that sources of an import are made of: JSON with the line of each value, with values
// that are not known before run time, and with references to secrets.
package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Kind is a kind of value.
type Kind int

// The kinds of value.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
	Unknown // needs a value that the source does not have; Why has the reasons
	Env     // a reference to an environment variable, whose name is Text
)

// A Value is a value of a source.
type Value struct {
	Kind    Kind
	Text    string // of a string, a number or a boolean; the name of an environment variable
	Items   []*Value
	Members []Member
	Line    int      // in the source; 0 if nothing is known of it
	Why     []string // reasons of an Unknown, without values of the source
	Hidden  bool     // an Unknown of a secret
	Form    string   // an Unknown text as far as it is known, with {…} in place of the rest; it may have secrets

	size int // see Size; 0: not counted yet
}

// A Member is a member of an object.
type Member struct {
	Name  string
	Value *Value
}

// Text returns a string.
func Text(s string, line int) *Value { return &Value{Kind: String, Text: s, Line: line} }

// Int returns a number.
func Int(n int, line int) *Value { return &Value{Kind: Number, Text: strconv.Itoa(n), Line: line} }

// Boolean returns a boolean.
func Boolean(b bool, line int) *Value {
	return &Value{Kind: Bool, Text: strconv.FormatBool(b), Line: line}
}

// Needed returns a value that somebody has to give, with the reason.
func Needed(line int, why ...string) *Value { return &Value{Kind: Unknown, Why: why, Line: line} }

// Obj returns an empty object.
func Obj(line int) *Value { return &Value{Kind: Object, Line: line} }

// Ints returns a list of numbers.
func Ints(list []int, line int) *Value {
	v := &Value{Kind: List, Line: line}
	for _, n := range list {
		v.Items = append(v.Items, Int(n, line))
	}
	return v
}

// Get returns a member of an object by its name in any case; nil if there is none, if it is null, or if v is no
// object.
func (v *Value) Get(path ...string) *Value {
	for _, name := range path {
		if v == nil || v.Kind != Object {
			return nil
		}
		i := v.index(name)
		if i < 0 || v.Members[i].Value.Kind == Null {
			return nil
		}
		v = v.Members[i].Value
	}
	return v
}

func (v *Value) index(name string) int {
	return slices.IndexFunc(v.Members, func(m Member) bool { return strings.EqualFold(m.Name, name) })
}

// Set sets a member of an object.
func (v *Value) Set(name string, to *Value) *Value {
	v.size = 0
	if i := v.index(name); i >= 0 {
		v.Members[i].Value = to
	} else {
		v.Members = append(v.Members, Member{name, to})
	}
	return v
}

// Remove removes a member of an object, and reports whether there was one.
func (v *Value) Remove(name string) bool {
	if v == nil || v.Kind != Object {
		return false
	}
	i := v.index(name)
	if i >= 0 {
		v.Members = slices.Delete(v.Members, i, i+1)
	}
	return i >= 0
}

// Str returns the text of a string or of another scalar, and whether v is one.
func (v *Value) Str() (string, bool) {
	if v == nil || v.Kind != String && v.Kind != Number && v.Kind != Bool {
		return "", false
	}
	return v.Text, true
}

// Whole returns a whole number, which may be in quotes, and whether v is one.
func (v *Value) Whole() (int, bool) {
	text, ok := v.Str()
	if !ok || v.Kind == Bool {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil
}

// Is reports whether v is a string, in any case.
func (v *Value) Is(word string) bool {
	text, ok := v.Str()
	return ok && strings.EqualFold(text, word)
}

// LineOr returns the line of v, or another one if v has none.
func (v *Value) LineOr(line int) int {
	if v == nil || v.Line == 0 {
		return line
	}
	return v.Line
}

// The weight of a value without its text, and of anything that is too large to be counted, in bytes.
const (
	weight = 48
	huge   = 1 << 40
)

// Size returns how much a value takes, in bytes, about: as much as a copy of it, in which what it has twice is there
// twice. It is counted once, so v must not be changed but by [Value.Set] after that.
func (v *Value) Size() int {
	if v == nil {
		return 0
	}
	if v.size > 0 {
		return v.size
	}
	n := weight + len(v.Text)
	for _, why := range v.Why {
		n += len(why)
	}
	for _, item := range v.Items {
		n = min(huge, n+item.Size())
	}
	for _, m := range v.Members {
		n = min(huge, n+len(m.Name)+m.Value.Size())
	}
	v.size = n
	return n
}

// Clone returns a deep copy.
func (v *Value) Clone() *Value {
	if v == nil {
		return nil
	}
	c := *v
	c.size = 0
	c.Items, c.Members = slices.Clone(v.Items), slices.Clone(v.Members)
	for i := range c.Items {
		c.Items[i] = c.Items[i].Clone()
	}
	for i := range c.Members {
		c.Members[i].Value = c.Members[i].Value.Clone()
	}
	return &c
}

// Walk calls visit for v and each value in it, with its path, such as action.request.headers.Accept. If visit returns
// false, the values inside are left out.
func (v *Value) Walk(path string, visit func(path string, v *Value) bool) {
	if v == nil || !visit(path, v) {
		return
	}
	for i, item := range v.Items {
		item.Walk(path+"["+strconv.Itoa(i)+"]", visit)
	}
	for _, m := range v.Members {
		m.Value.Walk(Join(path, m.Name), visit)
	}
}

// Join returns the path of a member.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Unknowns returns how many values somebody has to give.
func (v *Value) Unknowns() (n int) {
	v.Walk("", func(_ string, v *Value) bool {
		if v.Kind == Unknown {
			n++
		}
		return true
	})
	return n
}

// MarshalJSON writes the value. What somebody has to give is {"$needs": "…"}, which no job accepts, and a reference to
// a secret is {"$env": "NAME"}.
func (v *Value) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := v.write(&b)
	return b.Bytes(), err
}

func (v *Value) write(b *bytes.Buffer) error {
	switch {
	case v == nil || v.Kind == Null:
		b.WriteString("null")
	case v.Kind == Bool:
		b.WriteString(v.Text)
	case v.Kind == Number:
		if !json.Valid([]byte(v.Text)) {
			return fmt.Errorf("a number of the source is none")
		}
		b.WriteString(v.Text)
	case v.Kind == String:
		return quote(b, v.Text)
	case v.Kind == Unknown:
		b.WriteString(`{"$needs":`)
		if err := quote(b, strings.Join(v.Why, "; ")); err != nil {
			return err
		}
		b.WriteByte('}')
	case v.Kind == Env:
		b.WriteString(`{"$env":`)
		if err := quote(b, v.Text); err != nil {
			return err
		}
		b.WriteByte('}')
	case v.Kind == List:
		return v.writeList(b)
	default:
		return v.writeObject(b)
	}
	return nil
}

func (v *Value) writeList(b *bytes.Buffer) error {
	b.WriteByte('[')
	for i, item := range v.Items {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := item.write(b); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func (v *Value) writeObject(b *bytes.Buffer) error {
	b.WriteByte('{')
	for i, m := range v.Members {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := quote(b, m.Name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := m.Value.write(b); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// quote writes a JSON string without escapes for HTML.
func quote(b *bytes.Buffer, s string) error {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line break
	return nil
}
