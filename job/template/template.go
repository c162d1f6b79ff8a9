// Package template fills in the placeholders of what an action sends, such as {{.Job.Name}}.
//
// The syntax is that of Go's text/template. Of its actions there are values, comparisons, date and if; there is
// no range, template, define, with, variable, method or other function. So a template calls nothing, ends after one
// pass over its text, and can name the values in [Values] only: no member of the job, and no secret.
//
// [Check] says what is wrong with the templates of an action before it is stored. [Render] fills them in for one
// attempt. Both are pure.
package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"almanac/internal/fields"
	"almanac/job"
)

// A template is a parsed text. It is immutable.
type template struct{ parts block }

// A block is a list of parts, each of which writes some of the text.
type block []func(*output, *Values)

func (b block) write(o *output, v *Values) {
	for _, part := range b {
		part(o, v)
	}
}

// An output is what is written of a text, up to a limit.
type output struct {
	strings.Builder
	limit  int                 // in bytes
	over   bool                // the limit was reached; the rest is missing
	escape func(string) string // for values
}

func (o *output) write(text string) {
	if o.over = o.over || o.Len()+len(text) > o.limit; !o.over {
		o.WriteString(text)
	}
}

// render returns the text with its placeholders filled in. It returns false if that has more than limit bytes.
func (t *template) render(v *Values, limit int, escape func(string) string) (string, bool) {
	o := &output{limit: limit, escape: escape}
	t.parts.write(o, v)
	return o.String(), !o.over
}

// isJSON reports whether the text is JSON once its placeholders are filled in. A placeholder for a text is not taken
// for an empty one: [{{.Job.Name}}] is no JSON.
func (t *template) isJSON() bool {
	escape := func(value string) string { return cmp.Or(forJSON(value), "x") }
	for _, v := range []*Values{&sample, {}} { // so that either part of an {{if}} counts
		if text, ok := t.render(v, math.MaxInt, escape); ok && json.Valid([]byte(text)) {
			return true
		}
	}
	return false
}

// A fault is what is wrong with a text.
type fault struct {
	at      int // offset in bytes, within the action that is wrong
	shown   string
	allowed string
	near    string // what is most likely meant; "" if that is not known
}

const syntax = `placeholders such as {{.Job.Name}}, {{date "2006-01-02" .Due}} and {{if .Failure.Status}}…{{end}}`

// supported describes the actions that there are, for errors.
const supported = "values, functions and {{if}}: " + syntax

// newFault returns the error of a node.
func newFault(n parse.Node, shown, allowed string) *fault {
	return &fault{at: int(n.Position()), shown: shown, allowed: allowed}
}

func (f *fault) Error() string { return f.shown + ": " + f.allowed }

// field returns the error of a member with that text. It names the line and the column, in characters, where the
// action begins.
func (f *fault) field(path, text string) *job.FieldError {
	before := text[:min(f.at+1, len(text))]
	before = before[:max(0, strings.LastIndex(before, "{{"))]
	line := strings.LastIndexByte(before, '\n') + 1
	e := &job.FieldError{Path: path, Code: fields.Invalid, Allowed: f.allowed}
	if f.shown != "" {
		e.Value = f.shown
	}
	if f.near != "" {
		e.Hint = "did you mean " + f.near + "? "
	}
	e.Hint += fmt.Sprintf("see line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(before[line:])+1)
	return e
}

// parseText parses a text of an action, or of an error action. The error is a [*fault].
func parseText(text string, errorAction bool) (*template, error) {
	if len(text) > maxContent { // so that nesting has a limit, too
		return nil, &fault{at: 0, allowed: fmt.Sprintf("at most %d bytes", maxContent)}
	}
	tree, all, err := parseTree(text)
	if err != nil {
		return nil, syntaxFault(text, err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != tree {
			return nil, newFault(all[name].Root, "", supported)
		}
	}
	c := &compiler{errorAction: errorAction}
	parts, err := c.block(tree.Root)
	if err != nil {
		return nil, err
	}
	return &template{parts}, nil
}

const treeName = "text"

// parseTree parses a text, and returns its tree and those that it defines.
func parseTree(text string) (*parse.Tree, map[string]*parse.Tree, error) {
	all := map[string]*parse.Tree{}
	tree := parse.New(treeName)
	tree.Mode = parse.SkipFuncCheck // the compiler checks the names of functions
	_, err := tree.Parse(text, "", "", all)
	return tree, all, err
}

// syntaxFault returns the error of a text that is no template. The parser's own error may quote any part of the text,
// so it is not shown.
func syntaxFault(text string, err error) *fault {
	f := &fault{at: locate(text), allowed: syntax}
	switch {
	case strings.Contains(err.Error(), "unclosed action"):
		f.allowed = "}} at the end of each action: " + syntax
	case strings.Contains(err.Error(), "unexpected EOF"):
		f.allowed = "an {{end}} for each {{if}}: " + syntax
	}
	return f
}

// locate returns the offset of the action that the parser refuses. Its error has the line only, so each action gets a
// line of its own.
func locate(text string) int {
	_, _, err := parseTree(strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "{{", "\n{{"))
	line := 0
	if err != nil {
		_, _ = fmt.Sscanf(err.Error(), "template: "+treeName+":%d:", &line) // without a line it is the first action
	}
	at := strings.Index(text, "{{")
	for ; line > 2; line-- {
		next := strings.Index(text[at+2:], "{{")
		if next < 0 {
			break
		}
		at += 2 + next
	}
	return max(0, at) + 1
}
