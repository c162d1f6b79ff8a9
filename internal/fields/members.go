package fields

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
)

// Members are the members of a JSON object with string values, in their original order. Nil stands for an
// absent object.
type Members []Member

// A Member is a name and its value.
type Member struct{ Name, Value string }

// Get returns the value of the last member with that name, in any case; "" for none.
func (m Members) Get(name string) string {
	for _, f := range slices.Backward(m) {
		if SameName(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// MarshalJSON writes a JSON object.
func (m Members) MarshalJSON() ([]byte, error) {
	text := []byte("{}")
	for i, f := range m {
		member, err := PlainJSON(map[string]string{f.Name: f.Value})
		if err != nil {
			return nil, err
		}
		if i > 0 {
			member[0] = ','
			text = append(text[:len(text)-1], member...)
		} else {
			text = member
		}
	}
	return text, nil
}

// UnmarshalJSON parses a JSON object whose values are strings. null changes nothing, by convention.
func (m *Members) UnmarshalJSON(b []byte) error {
	r := treeReader{decoder: json.NewDecoder(bytes.NewReader(b)), body: b}
	r.decoder.UseNumber()
	n, err := r.value("", 0, true)
	if err != nil || n.Kind == Null {
		return err
	}
	var d Decoder
	if d.members(reflect.ValueOf(m).Elem(), n, ""); len(d.List) > 0 {
		return &d.Errors
	}
	return nil
}
