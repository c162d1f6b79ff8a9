package fields

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Decoder decodes JSON objects into structs and collects the errors of all their fields. A bad field keeps
// its zero value, and a bad element of a list is left out.
//
// The tag json of a struct's field names the member, which is compared by [SameName]. null counts as
// absent, and a bare value as a list of one element. A member without a field is an error. A blank field's
// tag ignore lists members that are accepted and discarded; * means all. The tag field holds, separated by
// commas:
//
//	required      the member must be there; a text must not be empty
//	default=V     the value of an absent member, a text or an integer
//	enum=A|B      the allowed texts, which match in any case; the field gets this spelling
//	min=N, max=N  the bounds of an integer; a panic if N is none
//	nonzero       an integer must not be 0
//	quoted        an integer may be a string of digits, since deployment templates quote parameters
//	secret        errors do not show the text; an empty one counts as absent
//	readonly      the member is accepted and not used
//	empty         a required text may be empty
//	stored        users do not write the member: it is an unknown one
//	rule=NAME     the rule with this name in Rules applies
//	variant       the text selects the object's variant; if it is bad, or the last of enum, the rest is not decoded
//	in=A|B        the member exists only in these variants
//	as=A          the member's object has this variant
//	bare          a text in place of the object is the text of this member
type Decoder struct {
	Errors
	Rules     map[string]Rule
	Emptied   []string          // the paths of secrets that are there and empty
	bodyPaths map[string]string // for a path of a list element by its index in the result: the path in the body
}

// A Rule is what tags cannot say: it depends on configuration, or is a function.
type Rule struct {
	Allowed string                        // what is allowed, for errors
	Code    Code                          // of the error; Invalid by default
	Valid   func(text string) bool        // whether a text is allowed; nil: every one
	Parse   func(text string) (any, bool) // the field's value for a text, and whether it is allowed; replaces Valid
	Words   []string                      // as the tag enum; replaces Valid
	Max     int                           // as the tag max
	Hidden  bool                          // errors do not show the text, since people paste secrets here by mistake
}

// BodyPath returns the path in the body for a path that has indexes in the result. They differ where an
// element is left out, and where a bare value stands for a list.
func (d *Decoder) BodyPath(path string) string { return cmp.Or(d.bodyPaths[path], path) }

// Decode decodes the object n, the value at path, into the struct v. It returns false if n is not an object.
func (d *Decoder) Decode(n *Node, path string, v any) bool {
	return d.object(reflect.ValueOf(v).Elem(), n, path, "")
}

// A field is a struct's field, its tags, and its rule with what the tags say.
type field struct {
	reflect.StructField
	name    string
	options map[string]string
	rule    Rule
}

func (f *field) has(option string) bool {
	_, ok := f.options[option]
	return ok
}

func (f *field) words(option string) []string {
	if text := f.options[option]; text != "" {
		return strings.Split(text, "|")
	}
	return nil
}

// fieldsOf returns the fields of a struct, and the names of the members that it ignores.
func (d *Decoder) fieldsOf(t reflect.Type) (all []field, ignored []string) {
	for _, member := range reflect.VisibleFields(t) { // those of embedded structs are members like others
		f := field{StructField: member, options: map[string]string{}}
		if f.Name == "_" {
			ignored = append(ignored, strings.Split(f.Tag.Get("ignore"), ",")...)
			continue
		}
		f.name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		for option := range strings.SplitSeq(f.Tag.Get("field"), ",") {
			name, value, _ := strings.Cut(option, "=")
			f.options[name] = value
		}
		f.rule = d.Rules[f.options["rule"]]
		if words := f.words("enum"); words != nil {
			f.rule.Words = words
		}
		if f.rule.Words != nil {
			f.rule.Allowed = OneOf(f.rule.Words)
		}
		if f.has("readonly") {
			ignored = append(ignored, f.name)
		} else if f.name != "" && f.name != "-" && !f.has("stored") {
			all = append(all, f)
		}
	}
	return all, ignored
}

// object decodes an object of a variant; "" for an object without variants.
func (d *Decoder) object(v reflect.Value, n *Node, path, variant string) bool {
	all, ignored := d.fieldsOf(v.Type())
	if i := slices.IndexFunc(all, func(f field) bool { return f.has("bare") }); i >= 0 && n.Kind == String {
		return d.value(v.FieldByIndex(all[i].Index), n, path, &all[i])
	}
	if n.Kind != Object {
		return d.rejectWithoutValue(path, n, "an object")
	}
	if i := slices.IndexFunc(all, func(f field) bool { return f.has("variant") }); i >= 0 {
		if variant = d.selectVariant(v, n, path, &all[i]); variant == "" {
			return true
		}
		all[0], all[i] = all[i], all[0] // errors name it first among the members
	}
	var names []string
	for _, f := range all {
		if in := f.words("in"); in != nil && !slices.Contains(in, variant) {
			continue
		}
		names = append(names, f.name)
		if !f.has("variant") {
			d.member(v, n, path, &f)
		}
	}
	if !slices.Contains(ignored, "*") {
		d.Unknown(n, path, names, ignored)
	}
	return true
}

// selectVariant decodes the field that selects the variant of the object n, at path. It returns "" if the rest
// of the object is not decoded: the field is bad, or the last word of enum.
func (d *Decoder) selectVariant(v reflect.Value, n *Node, path string, f *field) string {
	d.member(v, n, path, f)
	variant, words := v.FieldByIndex(f.Index).String(), f.rule.Words
	if variant == words[len(words)-1] {
		return ""
	}
	return variant
}

// Unknown reports the members of the object n, at path, that are neither among names nor ignored.
func (d *Decoder) Unknown(n *Node, path string, names, ignored []string) {
	for _, e := range n.Entries {
		same := func(name string) bool { return SameName(name, e.Name) }
		if e.Value.Kind == Null || slices.ContainsFunc(names, same) || slices.ContainsFunc(ignored, same) {
			continue
		}
		bad := &Error{Path: MemberPath(path, Shorten(e.Name)), Code: Unknown}
		if near := Nearest(e.Name, names); near != "" {
			bad.Hint = "did you mean " + strconv.Quote(near) + "?"
		} else {
			bad.Allowed = OneOf(names)
		}
		d.Add(bad)
	}
}

// member decodes a member of the object n, at path, into its field of v.
func (d *Decoder) member(v reflect.Value, n *Node, path string, f *field) {
	to, at, value := v.FieldByIndex(f.Index), MemberPath(path, f.name), n.Member(f.name)
	empty := value != nil && value.Kind == String && value.Text == ""
	switch {
	case f.has("required") && value == nil && to.Kind() == reflect.Struct:
		d.value(to, &Node{Kind: Object}, at, f) // the members that it requires are missing
	case f.has("required") && (value == nil || empty && !f.has("enum") && !f.has("empty")):
		d.Add(&Error{Path: at, Code: Required, Allowed: f.rule.Allowed})
	case value == nil && f.has("default"):
		d.value(to, &Node{Kind: String, Text: f.options["default"]}, at, &field{options: map[string]string{"quoted": ""}})
	case value == nil:
	case empty && f.has("secret"):
		d.Emptied = append(d.Emptied, at)
	default:
		d.value(to, value, at, f)
	}
}

// value decodes n, the value at path, into a field or an element of a list. It reports success.
func (d *Decoder) value(to reflect.Value, n *Node, path string, f *field) bool {
	if to.Kind() == reflect.Pointer {
		inner := reflect.New(to.Type().Elem())
		if !d.value(inner.Elem(), n, path, f) {
			return false
		}
		to.Set(inner)
		return true
	}
	switch {
	case f.rule.Parse != nil:
		v, ok := f.rule.Parse(n.Text)
		if n.Kind != String || !ok {
			return d.Reject(path, n, f.rule.Allowed)
		}
		to.Set(reflect.ValueOf(v))
		return true
	case to.Type() == reflect.TypeFor[Members]():
		return d.members(to, n, path)
	}
	switch to.Kind() {
	case reflect.Struct:
		return d.object(to, n, path, f.options["as"])
	case reflect.Slice:
		return d.list(to, n, path, f)
	case reflect.Int:
		return d.integer(to, n, path, f)
	case reflect.Bool:
		if n.Kind != Bool {
			return d.Reject(path, n, "true or false")
		}
		to.SetBool(n.Text == "true")
		return true
	default:
		return d.text(to, n, path, f)
	}
}

// Reject reports a value of the wrong type or form, and shows it; of an object or a list, only its kind. It
// returns false.
func (d *Decoder) Reject(path string, n *Node, allowed string) bool {
	return d.rejectAs(path, n, Invalid, allowed)
}

// rejectWithoutValue reports a value of the wrong type without showing it, since it may be a secret.
func (d *Decoder) rejectWithoutValue(path string, n *Node, allowed string) bool {
	return d.Add(&Error{Path: path, Code: Invalid, Value: n.Kind, Allowed: allowed})
}

// rejectAs is Reject with another code, unless the value is an object or a list.
func (d *Decoder) rejectAs(path string, n *Node, code Code, allowed string) bool {
	value := n.Scalar()
	if value == nil {
		value, code = n.Kind, Invalid
	}
	return d.Add(&Error{Path: path, Code: code, Value: value, Allowed: allowed})
}

// members decodes an object of strings. Null members are left out.
func (d *Decoder) members(to reflect.Value, n *Node, path string) bool {
	if n.Kind != Object {
		return d.rejectWithoutValue(path, n, "an object")
	}
	members := Members{}
	for _, e := range n.Entries {
		switch e.Value.Kind {
		case Null:
		case String:
			members = append(members, Member{e.Name, e.Value.Text})
		default:
			d.rejectWithoutValue(MemberPath(path, Shorten(e.Name)), e.Value, "a string")
		}
	}
	to.Set(reflect.ValueOf(members))
	return true
}

// list decodes a list. Null elements are left out.
func (d *Decoder) list(to reflect.Value, n *Node, path string, f *field) bool {
	items, at := n.Items, func(i int) string { return ItemPath(path, i) }
	if n.Kind != List {
		items, at = []*Node{n}, func(int) string { return path }
	}
	for i, item := range items {
		before := len(d.List) + d.Unlisted
		element := reflect.New(to.Type().Elem()).Elem()
		if item.Kind == Null || !d.value(element, item, at(i), f) || len(d.List)+d.Unlisted > before {
			continue
		}
		if d.bodyPaths == nil {
			d.bodyPaths = map[string]string{}
		}
		d.bodyPaths[ItemPath(path, to.Len())] = at(i)
		to.Set(reflect.Append(to, element))
	}
	return true
}

// integer decodes an integer.
func (d *Decoder) integer(to reflect.Value, n *Node, path string, f *field) bool {
	least, most := bound(f, "min", math.MinInt), bound(f, "max", math.MaxInt)
	if f.rule.Max != 0 {
		most = f.rule.Max
	}
	v, err := strconv.Atoi(n.Text)
	if n.Kind != Number && (n.Kind != String || !f.has("quoted")) || err != nil && !errors.Is(err, strconv.ErrRange) {
		return d.Reject(path, n, integers("an integer from ", least, most, f.has("nonzero")))
	}
	if err != nil || v < least || v > most || v == 0 && f.has("nonzero") {
		return d.rejectAs(path, n, OutOfRange, integers("", least, most, f.has("nonzero")))
	}
	to.SetInt(int64(v))
	return true
}

// bound returns a bound of an integer; none if the field has no such tag.
func bound(f *field, option string, none int) int {
	if !f.has(option) {
		return none
	}
	v, err := strconv.Atoi(f.options[option])
	if err != nil {
		panic(fmt.Sprintf("the tag %s of the field %s is no integer: %v", option, f.Name, err)) //nolint:forbidigo // a mistake in the program
	}
	return v
}

// integers describes a range of integers, after a word for them.
func integers(word string, least, most int, nonzero bool) string {
	switch {
	case nonzero:
		return fmt.Sprintf("%s1 to %d or %d to -1", word, most, least)
	case least == math.MinInt:
		return "an integer"
	case most == math.MaxInt:
		return fmt.Sprintf("%s%d or more", strings.Replace(word, "from", "of", 1), least)
	default:
		return fmt.Sprintf("%s%d to %d", word, least, most)
	}
}

// text decodes a string.
func (d *Decoder) text(to reflect.Value, n *Node, path string, f *field) bool {
	rule := f.rule
	switch {
	case rule.Words != nil:
		i := slices.IndexFunc(rule.Words, func(w string) bool { return n.Kind == String && SameName(w, n.Text) })
		if i < 0 {
			return d.rejectAs(path, n, Unsupported, rule.Allowed)
		}
		to.SetString(rule.Words[i])
		return true
	case n.Kind != String:
		return d.rejectWithoutValue(path, n, "a string")
	case rule.Valid != nil && !rule.Valid(n.Text):
		e := &Error{Path: path, Code: cmp.Or(rule.Code, Invalid), Value: n.Text, Allowed: rule.Allowed}
		if f.has("secret") || rule.Hidden {
			e.Value = nil
		}
		return d.Add(e)
	}
	to.SetString(n.Text)
	return true
}
