package template

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
	"time"

	"almanac/internal/fields"
	"almanac/recurrence"
)

// A valueType is the type of an expression's value.
type valueType int

const (
	aText   valueType = iota // a string
	aNumber                  // an int
	aTime                    // a time.Time
	aTruth                   // a bool
)

// An expression is a checked pipeline.
type expression struct {
	is      valueType
	value   func(*Values) any
	literal bool
}

// A compiler checks parts of a template and makes them executable. Its errors are of type [*fault].
type compiler struct{ errorAction bool }

// names returns the names that there are.
func (c *compiler) names() (all []string) {
	for _, p := range placeholders {
		if c.errorAction || !p.ofFailure() {
			all = append(all, p.name)
		}
	}
	return all
}

// known lists the names for errors.
func (c *compiler) known() string {
	all := c.names()
	list := strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
	if !c.errorAction {
		list += ", and in an errorAction " + failed + "Message and others"
	}
	return list
}

func (c *compiler) block(list *parse.ListNode) (block, error) {
	var b block
	if list == nil {
		return nil, nil
	}
	for _, n := range list.Nodes {
		part, err := c.part(n)
		if err != nil {
			return nil, err
		}
		b = append(b, part)
	}
	return b, nil
}

func (c *compiler) part(n parse.Node) (func(*output, *Values), error) {
	switch n := n.(type) {
	case *parse.TextNode:
		literal := string(n.Text)
		return func(o *output, _ *Values) { o.write(literal) }, nil
	case *parse.ActionNode:
		e, err := c.pipe(n.Pipe)
		if err == nil && e.is == aTruth {
			err = newFault(n, "", "a condition in {{if}} only; "+syntax)
		}
		return func(o *output, v *Values) { o.write(o.escape(show(e.value(v)))) }, err
	case *parse.IfNode:
		return c.branch(n)
	}
	return nil, newFault(n, "", supported)
}

func (c *compiler) branch(n *parse.IfNode) (func(*output, *Values), error) {
	e, err := c.pipe(n.Pipe)
	if err != nil {
		return nil, err
	}
	then, err := c.block(n.List)
	if err != nil {
		return nil, err
	}
	otherwise, err := c.block(n.ElseList)
	return func(o *output, v *Values) {
		if holds(e.value(v)) {
			then.write(o, v)
		} else {
			otherwise.write(o, v)
		}
	}, err
}

// pipe checks a pipeline: each command gets the value of the one before as its last argument.
func (c *compiler) pipe(p *parse.PipeNode) (expression, error) {
	var e expression
	if len(p.Decl) > 0 {
		return e, newFault(p, p.Decl[0].String(), "values without variables: "+c.known())
	}
	for i, command := range p.Cmds {
		var piped []expression
		if i > 0 {
			piped = []expression{e}
		}
		var err error
		if e, err = c.command(command, piped); err != nil {
			return e, err
		}
	}
	return e, nil
}

func (c *compiler) command(n *parse.CommandNode, piped []expression) (expression, error) {
	function, isCall := n.Args[0].(*parse.IdentifierNode)
	if !isCall {
		if len(n.Args) > 1 || len(piped) > 0 {
			return expression{}, newFault(n, "", "arguments after a function only; "+syntax)
		}
		return c.operand(n.Args[0])
	}
	var arguments []expression
	for _, argument := range n.Args[1:] {
		e, err := c.operand(argument)
		if err != nil {
			return expression{}, err
		}
		arguments = append(arguments, e)
	}
	return call(function, append(arguments, piped...))
}

func (c *compiler) operand(n parse.Node) (expression, error) {
	constant := func(k valueType, v any) (expression, error) {
		return expression{k, func(*Values) any { return v }, true}, nil
	}
	switch n := n.(type) {
	case *parse.FieldNode:
		for _, known := range placeholders {
			if known.name == n.String() && (c.errorAction || !known.ofFailure()) {
				return expression{known.is, known.of, false}, nil
			}
		}
		f := newFault(n, n.String(), c.known())
		f.near = fields.Nearest(f.shown, c.names())
		return expression{}, f
	case *parse.StringNode:
		return constant(aText, n.Text)
	case *parse.BoolNode:
		return constant(aTruth, n.True)
	case *parse.NumberNode:
		if n.IsInt {
			return constant(aNumber, int(n.Int64))
		}
	case *parse.PipeNode:
		return c.pipe(n)
	}
	return expression{}, newFault(n, "", "names, texts and whole numbers; the names are "+c.known())
}

// functions are the names of the functions, for errors.
const functions = "date, eq, ne, lt, le, gt, ge, and, or and not"

// call checks a call of a function.
func call(n *parse.IdentifierNode, arguments []expression) (expression, error) {
	switch n.Ident {
	case "date":
		return date(n, arguments)
	case "not":
		if len(arguments) != 1 {
			return expression{}, newFault(n, n.Ident, "one value after not")
		}
		e := arguments[0]
		return expression{aTruth, func(v *Values) any { return !holds(e.value(v)) }, false}, nil
	case "and", "or":
		if len(arguments) == 0 {
			return expression{}, newFault(n, n.Ident, "values after "+n.Ident)
		}
		decides := n.Ident == "or" // the value that ends the search
		return expression{aTruth, func(v *Values) any {
			return slices.ContainsFunc(arguments, func(e expression) bool { return holds(e.value(v)) == decides }) == decides
		}, false}, nil
	}
	accepts := comparisons[n.Ident]
	if accepts == nil {
		return expression{}, newFault(n, n.Ident, "the functions "+functions)
	}
	if len(arguments) != 2 || arguments[0].is != arguments[1].is || arguments[0].is != aText && arguments[0].is != aNumber {
		return expression{}, newFault(n, n.Ident, fmt.Sprintf("two texts, or two numbers, after %s", n.Ident))
	}
	a, b := arguments[0], arguments[1]
	return expression{aTruth, func(v *Values) any { return accepts(compare(a.value(v), b.value(v))) }, false}, nil
}

// comparisons say whether each function accepts the order of its arguments: -1, 0 or 1.
var comparisons = map[string]func(order int) bool{
	"eq": func(order int) bool { return order == 0 },
	"ne": func(order int) bool { return order != 0 },
	"lt": func(order int) bool { return order < 0 },
	"le": func(order int) bool { return order <= 0 },
	"gt": func(order int) bool { return order > 0 },
	"ge": func(order int) bool { return order >= 0 },
}

// compare compares two values of the same kind, [aText] or [aNumber].
func compare(a, b any) int {
	if a, ok := a.(int); ok {
		return cmp.Compare(a, b.(int))
	}
	return strings.Compare(a.(string), b.(string))
}

// date checks a call of date: a layout of package time, a time zone if it is not to be UTC, and a time.
func date(n *parse.IdentifierNode, arguments []expression) (expression, error) {
	bad := newFault(n, "date", `date "2006-01-02 15:04" .Due, with a time zone such as "Europe/Stockholm" before .Due if it is not to be UTC`)
	last := len(arguments) - 1
	if last < 1 || last > 2 || arguments[last].is != aTime {
		return expression{}, bad
	}
	var constants []string
	for _, e := range arguments[:last] {
		if !e.literal || e.is != aText {
			return expression{}, bad
		}
		constants = append(constants, e.value(nil).(string))
	}
	location := time.UTC
	if last == 2 {
		var err error
		if location, err = recurrence.LoadLocation(constants[1]); err != nil || constants[1] == "" {
			return expression{}, newFault(n, constants[1], "an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time")
		}
	}
	e := arguments[last]
	return expression{aText, func(v *Values) any {
		if t := e.value(v).(time.Time); !t.IsZero() {
			return t.In(location).Format(constants[0])
		}
		return ""
	}, false}, nil
}

// show returns a value as text. A time is in UTC: 2026-01-31T08:30:00Z. A time that is not known is an empty text.
func show(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case int:
		return strconv.Itoa(value)
	case time.Time:
		if !value.IsZero() {
			return value.Format(time.RFC3339)
		}
	}
	return ""
}

// holds reports whether a value is neither empty, zero nor false.
func holds(value any) bool {
	switch value := value.(type) {
	case string:
		return value != ""
	case int:
		return value != 0
	case time.Time:
		return !value.IsZero()
	case bool:
		return value
	}
	return false
}
