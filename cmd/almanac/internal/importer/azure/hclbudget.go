package azure

import (
	"errors"
	"math/big"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

const (
	maxHCLFile  = 1 << 20  // bytes
	maxHCLDepth = 200      // of brackets in brackets
	maxHCLCost  = 64 << 20 // bytes that an expression may have to handle
	maxDistinct = 2000     // items that are compared with one another
	maxExponent = 2000     // of a number, in bits
)

// tooDeep reports whether a text has more brackets in brackets, or signs before signs, than a parser that calls itself
// can take.
func tooDeep(text string) bool {
	depth, signs := 0, 0
	for _, c := range []byte(text) {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		switch c {
		case '-', '!', '?':
			signs++
		case '\n':
			signs = 0
		}
		if depth > maxHCLDepth || signs > 2000 {
			return true
		}
	}
	return false
}

// shape says what of an expression makes it costly.
type shape struct {
	loops int    // for expressions; a splat counts as none
	call  string // a function whose value exists only when Terraform runs
	huge  bool   // it has a number with so many digits that nobody can write them
}

func shapeOf(e hcl.Expression) (s shape) {
	node, ok := e.(hclsyntax.Node)
	if !ok {
		return s
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ForExpr:
			s.loops++
		case *hclsyntax.FunctionCallExpr:
			if runtimeFunctions[n.Name] {
				s.call = n.Name
			}
		case *hclsyntax.LiteralValueExpr:
			s.huge = s.huge || hugeNumber(n.Val)
		}
		return nil
	})
	return s
}

func hugeNumber(v cty.Value) bool {
	return v.IsKnown() && !v.IsNull() && v.Type() == cty.Number && exponent(v.AsBigFloat()) > maxExponent
}

func exponent(n *big.Float) int {
	return max(n.MantExp(nil), -n.MantExp(nil))
}

// longExponent matches numbers in texts that are too large or too small.
var longExponent = regexp.MustCompile(`\d[eE][+-]?\d{3,}`)

// A measure is how much a value is: its members, and theirs, and the bytes of all.
type measure struct{ members, bytes int }

// measured measures a value, up to the limits of one that is not large.
func measured(v cty.Value) (all measure) {
	_ = cty.Walk(v, func(_ cty.Path, inner cty.Value) (bool, error) {
		all.members++
		all.bytes += weightOfMember
		if inner.IsKnown() && !inner.IsNull() && !inner.IsMarked() && inner.Type() == cty.String {
			all.bytes += len(inner.AsString())
		}
		if all.large() {
			return false, errors.New("large")
		}
		return true, nil
	})
	return all
}

// weightOfMember is how much a value is without its text, in bytes.
const weightOfMember = 48

func (m measure) large() bool {
	return m.members > maxHCLMembers || m.bytes > maxHCLText+weightOfMember*maxHCLMembers
}

// cost returns how many bytes an expression has to handle at most, apart from what functions make: each reference once,
// and with a for expression as often as its largest collection has items.
func (m *module) cost(e hcl.Expression, s shape, roots map[string]cty.Value) int {
	others := map[string]measure{}
	sum, most := e.Range().End.Byte-e.Range().Start.Byte, 1
	for _, t := range e.Variables() {
		names := stepsOf(t)
		of, ok := others[names[0]]
		if len(names) > 1 && m.values[names[0]+"."+names[1]].of.members > 0 {
			of, ok = m.values[names[0]+"."+names[1]].of, true
		}
		if !ok {
			if root := roots[names[0]]; root != cty.NilVal {
				of = measured(root)
			}
			others[names[0]] = of
		}
		sum, most = sum+of.bytes, max(most, of.members)
	}
	if s.loops > 0 {
		sum *= most
	}
	return sum
}

var errCost = errors.New("it makes too much")

// limited returns a function that takes and makes no more than the limits allow. check returns an error for arguments of
// which it would make more; nil checks nothing.
func limited(f function.Function, check func(args []cty.Value) error) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) { return f.ReturnTypeForValues(args) },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if err := check(args); err != nil {
				return cty.DynamicVal, err
			}
			return f.Call(args)
		},
	})
}

func textOf(v cty.Value) string {
	if !v.IsKnown() || v.IsNull() || v.IsMarked() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// checks are those of the functions that make much of little.
var checks = map[string]func(args []cty.Value) error{
	"replace": func(args []cty.Value) error {
		text, old, with := textOf(args[0]), textOf(args[1]), textOf(args[2])
		return atMost(len(text)+strings.Count(text, old)*len(with), maxHCLText)
	},
	"trim": func(args []cty.Value) error { return atMost(len(textOf(args[0]))*len(textOf(args[1])), maxHCLCost) },
	"split": func(args []cty.Value) error {
		return atMost(strings.Count(textOf(args[1]), textOf(args[0])), maxHCLMembers)
	},
	"join": func(args []cty.Value) error {
		n := 0
		for _, list := range args[1:] {
			n += measured(list).members
		}
		return atMost(len(textOf(args[0]))*n, maxHCLText)
	},
	"distinct": func(args []cty.Value) error { return atMost(measured(args[0]).members, maxDistinct) },
	"tonumber": func(args []cty.Value) error { return plainNumbers(textOf(args[0])) },
	"jsondecode": func(args []cty.Value) error {
		text := textOf(args[0])
		if tooDeep(text) {
			return errCost
		}
		return errors.Join(plainNumbers(text), atMost(strings.Count(text, ",")+strings.Count(text, "["), maxHCLMembers))
	},
}

func atMost(n, most int) error {
	if n > most {
		return errCost
	}
	return nil
}

func plainNumbers(text string) error {
	if longExponent.MatchString(text) {
		return errCost
	}
	return nil
}
