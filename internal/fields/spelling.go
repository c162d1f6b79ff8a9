package fields

import (
	"reflect"
	"slices"
)

// Misspelled returns an error for each text of the struct that v points to whose tags allow a list of words and
// that equals one of them only in another case. [Decoder.Decode] stores the word as the tags spell it.
func Misspelled(v any, rules map[string]Rule) *Errors {
	d := Decoder{Rules: rules}
	d.checkSpelling(reflect.ValueOf(v), "", &field{})
	return &d.Errors
}

// checkSpelling checks the value of f, at path.
func (d *Decoder) checkSpelling(v reflect.Value, path string, f *field) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.checkSpelling(v.Elem(), path, f)
		}
	case reflect.Struct:
		all, _ := d.fieldsOf(v.Type())
		for _, member := range all {
			d.checkSpelling(v.FieldByIndex(member.Index), MemberPath(path, member.name), &member)
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.checkSpelling(v.Index(i), ItemPath(path, i), f)
		}
	case reflect.String:
		same := func(word string) bool { return SameName(word, v.String()) }
		if i := slices.IndexFunc(f.rule.Words, same); i >= 0 && f.rule.Words[i] != v.String() {
			d.Add(&Error{Path: path, Code: Unsupported, Value: v.String(), Allowed: f.rule.Words[i], Hint: "here case makes a difference"})
		}
	}
}
