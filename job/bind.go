package job

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxFields is the limit of bad fields in an error, so that a small body cannot cause a large answer.
const maxFields = 50

// A binder collects errors while the values of a body are parsed.
type binder struct {
	limits   *Limits
	fields   []*FieldError
	unlisted int
	written  map[string]string // for a path of a list element by its index in the result: the path in the body
}

func newBinder(l *Limits) *binder { return &binder{limits: l, written: map[string]string{}} }

// asWritten returns the path in the body for a path by an index in the result.
func (b *binder) asWritten(path string) string { return cmp.Or(b.written[path], path) }

// fail reports an error in a field. The value is shown, so it must be nil for a secret.
func (b *binder) fail(path string, value any, want string) {
	if len(b.fields) == maxFields {
		b.unlisted++
		return
	}
	b.fields = append(b.fields, &FieldError{Path: path, Value: value, Want: want})
}

// mismatch reports a value of the wrong type or an unknown word.
func (b *binder) mismatch(path string, n *node, want string) {
	if v := n.scalar(); v != nil {
		b.fail(path, v, want)
		return
	}
	b.fail(path, nil, want+", not "+n.kind.String())
}

// blamed reports whether path, a part of it, or a parent of it has an error already.
func (b *binder) blamed(path string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(b.fields, func(f *FieldError) bool {
		return within(f.Path, path) || within(path, f.Path)
	})
}

// err returns the error with all bad fields; nil if there are none.
func (b *binder) err(what string) error {
	if len(b.fields) == 0 {
		return nil
	}
	e := badRequest("The %s is not valid", what)
	e.Fields, e.Unlisted = b.fields, b.unlisted
	return e
}

// An object is a JSON object being parsed. Members are requested by name, in any case. done reports the
// members that were never requested.
type object struct {
	b         *binder
	path      string
	node      *node
	known     []string
	tolerated []string
}

// object returns n, the value at path, if it is a JSON object. Otherwise it reports an error.
func (b *binder) object(path string, n *node) (*object, bool) {
	if n.kind != jsonObject {
		b.fail(path, nil, "an object, not "+n.kind.String())
		return nil, false
	}
	return &object{b: b, path: path, node: n}, true
}

// at returns the path of a member.
func (o *object) at(name string) string { return memberPath(o.path, name) }

// get returns a member's value; nil if it is absent or null.
func (o *object) get(name string) *node {
	if !slices.Contains(o.known, name) {
		o.known = append(o.known, name)
	}
	return o.node.member(name)
}

// ignore makes done accept members without using them.
func (o *object) ignore(names ...string) { o.tolerated = append(o.tolerated, names...) }

// object returns a member that is an object.
func (o *object) object(name string) (*object, bool) {
	n := o.get(name)
	if n == nil {
		return nil, false
	}
	return o.b.object(o.at(name), n)
}

// done reports the unknown members.
func (o *object) done() {
	for _, e := range o.node.entries {
		same := func(name string) bool { return sameName(name, e.name) }
		if e.value.kind == jsonNull || slices.ContainsFunc(o.known, same) || slices.ContainsFunc(o.tolerated, same) {
			continue
		}
		want := "a known field: " + oneOf(o.known)
		if near := nearest(e.name, o.known); near != "" {
			want = "a known field; did you mean '" + near + "'?"
		}
		o.b.fail(o.at(shorten(e.name)), nil, want)
	}
}

// A textRule is the rule for a string.
type textRule struct {
	want     string            // what is allowed, for errors
	valid    func(string) bool // nil: every string is valid
	required bool
	hidden   bool // errors do not show the value
}

// text parses a string. It returns "" if the member is absent or bad.
func (o *object) text(name string, rule textRule) string {
	n := o.get(name)
	if n == nil {
		if rule.required {
			o.b.fail(o.at(name), nil, rule.want)
		}
		return ""
	}
	return o.b.text(o.at(name), n, rule)
}

func (b *binder) text(path string, n *node, rule textRule) string {
	switch {
	case n.kind != jsonString:
		b.fail(path, nil, "a string, not "+n.kind.String())
	case rule.valid != nil && !rule.valid(n.text):
		var shown any
		if !rule.hidden {
			shown = n.text
		}
		b.fail(path, shown, rule.want)
	default:
		return n.text
	}
	return ""
}

// secret parses a string whose value is never shown in errors. An empty string counts as absent, because
// some clients send it for members that an answer left out. missing is the error for an absent secret; ""
// for none.
func (o *object) secret(name, want, missing string, valid func(string) bool) string {
	n := o.get(name)
	switch {
	case n == nil || n.kind == jsonString && n.text == "":
		if missing != "" {
			o.b.fail(o.at(name), nil, missing)
		}
		return ""
	default:
		return o.b.text(o.at(name), n, textRule{want: want, valid: valid, hidden: true})
	}
}

// enum parses a string that equals one of spellings in any case, and returns that spelling; "" if the
// member is absent or bad.
func (o *object) enum(name string, spellings ...string) string {
	n := o.get(name)
	if n == nil {
		return ""
	}
	return o.b.enum(o.at(name), n, spellings)
}

func (o *object) requiredEnum(name string, spellings ...string) string {
	if o.get(name) == nil {
		o.b.fail(o.at(name), nil, oneOf(spellings))
	}
	return o.enum(name, spellings...)
}

func (b *binder) enum(path string, n *node, spellings []string) string {
	if n.kind == jsonString {
		for _, s := range spellings {
			if sameName(s, n.text) {
				return s
			}
		}
	}
	b.mismatch(path, n, oneOf(spellings))
	return ""
}

// integer parses an integer from least to most, as a number or as a string of digits, because deployment
// templates quote their parameters. It returns false if the member is absent or bad.
func (o *object) integer(name string, least, most int) (int, bool) {
	return o.integerBy((*node).integer, name, least, most)
}

// strictInteger is integer without strings.
func (o *object) strictInteger(name string, least, most int) (int, bool) {
	return o.integerBy((*node).strictInteger, name, least, most)
}

func (o *object) integerBy(read func(*node) (int, bool), name string, least, most int) (int, bool) {
	n := o.get(name)
	if n == nil {
		return 0, false
	}
	if v, ok := read(n); ok && v >= least && v <= most {
		return v, true
	}
	want := fmt.Sprintf("an integer from %d to %d", least, most)
	if most == math.MaxInt {
		want = fmt.Sprintf("an integer of at least %d", least)
	}
	o.b.mismatch(o.at(name), n, want)
	return 0, false
}

// integer returns the value of a number or string that is written as an integer.
func (n *node) integer() (int, bool) {
	v, err := strconv.Atoi(n.text)
	return v, err == nil && (n.kind == jsonNumber || n.kind == jsonString)
}

// strictInteger returns the value of a number that is written as an integer.
func (n *node) strictInteger() (int, bool) {
	v, ok := n.integer()
	return v, ok && n.kind == jsonNumber
}

// boolean parses true or false; nil if the member is absent or bad.
func (o *object) boolean(name string) *bool {
	n := o.get(name)
	if n == nil {
		return nil
	}
	if n.kind != jsonBool {
		o.b.mismatch(o.at(name), n, "true or false")
		return nil
	}
	return new(n.text == "true")
}

// An item is an element of a list.
type item struct {
	path string
	*node
}

// list parses a list. A bare value counts as a list with one element. Null elements are left out.
func (o *object) list(name string) []item {
	n := o.get(name)
	if n == nil {
		return nil
	}
	if n.kind != jsonList {
		return []item{{o.at(name), n}}
	}
	var items []item
	for i, e := range n.items {
		if e.kind != jsonNull {
			items = append(items, item{itemPath(o.at(name), i), e})
		}
	}
	return items
}

// strings parses an object whose values are strings; nil if it is absent. Null members are left out.
func (o *object) strings(name string) Members {
	inner, ok := o.object(name)
	if !ok {
		return nil
	}
	members := Members{}
	for _, e := range inner.node.entries {
		if e.value.kind == jsonNull {
			continue
		}
		value := o.b.text(inner.at(shorten(e.name)), e.value, textRule{hidden: true})
		members = append(members, Member{e.name, value})
	}
	return members
}

const wantTime = "a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00Z"

// time parses a date, or a date and time, which is in loc if it has no offset.
func (o *object) time(name string, loc *time.Location) *Time {
	n := o.get(name)
	if n == nil {
		return nil
	}
	if n.kind == jsonString {
		if t, err := parseTime(n.text, loc); err == nil {
			return &t
		}
	}
	o.b.mismatch(o.at(name), n, wantTime)
	return nil
}

// duration parses an ISO 8601 duration or a .NET TimeSpan, and keeps its spelling.
func (o *object) duration(name string, least, most time.Duration) Duration {
	n := o.get(name)
	if n == nil {
		return ""
	}
	if n.kind == jsonString {
		if d, err := ParseDuration(n.text); err == nil && d >= least && d <= most {
			return Duration(n.text)
		}
	}
	o.b.mismatch(o.at(name), n, fmt.Sprintf("a duration such as PT30S or 00:00:30, from %s to %s", isoText(least), isoText(most)))
	return ""
}

// isoText returns a duration of whole seconds in ISO 8601, in the largest unit without a remainder.
func isoText(d time.Duration) string {
	switch {
	case d > 0 && d%day == 0:
		return fmt.Sprintf("P%dD", d/day)
	case d > 0 && d%time.Hour == 0:
		return fmt.Sprintf("PT%dH", d/time.Hour)
	case d > 0 && d%time.Minute == 0:
		return fmt.Sprintf("PT%dM", d/time.Minute)
	default:
		return fmt.Sprintf("PT%dS", d/time.Second)
	}
}

// oneOf joins words: "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// nearest returns the known name closest to a misspelled one; "" if none is close.
func nearest(name string, known []string) string {
	best, least := "", 2+len(name)/5
	if len(name) > 64 {
		return ""
	}
	for _, k := range known {
		if d := editDistance(NormalizeName(name), NormalizeName(k)); d < min(least, len(k)) {
			best, least = k, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance of a and b, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// shorten makes a name from the body safe for an error: at most 60 characters, without control characters.
func shorten(name string) string {
	const most = 60
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}
