package azure

import (
	"encoding/base64"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
)

const (
	maxVisiting   = 40      // variables in variables
	maxEvaluated  = 100_000 // expressions of a module
	maxHCLText    = 1 << 20
	maxHCLMembers = 10_000
)

// value evaluates an expression.
func (m *module) value(e hcl.Expression, instance map[string]cty.Value, line int) *value.Value {
	v, why := m.evaluate(e, instance)
	return fromCty(v, why, line, 0)
}

// fromCty returns a value of Terraform; why has the reasons of what is not known of it.
func fromCty(v cty.Value, why []string, line, depth int) *value.Value {
	v, _ = v.UnmarkDeep()
	switch {
	case depth > 20 || !v.IsKnown() || hugeNumber(v):
		return value.Needed(line, why...)
	case v.IsNull():
		return &value.Value{Line: line}
	case v.Type() == cty.String:
		return value.Text(v.AsString(), line)
	case v.Type() == cty.Bool:
		return value.Boolean(v.True(), line)
	case v.Type() == cty.Number:
		return &value.Value{Kind: value.Number, Text: v.AsBigFloat().Text('f', -1), Line: line}
	case v.Type().IsObjectType() || v.Type().IsMapType():
		o := value.Obj(line)
		for it := v.ElementIterator(); it.Next(); {
			key, item := it.Element()
			o.Set(key.AsString(), fromCty(item, why, line, depth+1))
		}
		return o
	case v.CanIterateElements():
		list := &value.Value{Kind: value.List, Line: line}
		for it := v.ElementIterator(); it.Next(); {
			_, item := it.Element()
			list.Items = append(list.Items, fromCty(item, why, line, depth+1))
		}
		return list
	}
	return value.Needed(line, why...)
}

// evaluate evaluates an expression, and says what is not known of it.
func (m *module) evaluate(e hcl.Expression, instance map[string]cty.Value) (cty.Value, []string) {
	m.steps++
	s := shapeOf(e)
	if m.steps > maxEvaluated || m.visiting > maxVisiting || s.loops > 1 || s.huge {
		return cty.DynamicVal, []string{"an expression that is too large, or refers to itself"}
	}
	m.visiting++
	defer func() { m.visiting-- }()
	var why []string
	roots := map[string]cty.Value{}
	for _, t := range e.Variables() {
		m.resolve(t, instance, roots, &why)
	}
	if s.call != "" {
		why = append(why, s.call+"(), whose value exists only when Terraform runs")
	}
	missing := ""
	handled := m.cost(e, s, roots)
	m.c.made += handled / 64
	if handled > maxHCLCost || m.c.exhausted() {
		return cty.DynamicVal, append(why, tooMuch)
	}
	result, problems := e.Value(&hcl.EvalContext{Variables: roots, Functions: m.functions(&missing)})
	size := measured(result)
	m.c.made += 8 * size.bytes // it is walked through more than once
	switch {
	case problems.HasErrors():
		why = append(why, "an expression that cannot be evaluated here")
		result = cty.DynamicVal
	case size.large():
		why, result = append(why, "a value that is too large"), cty.DynamicVal
	}
	if missing != "" {
		why = append(why, missing)
	}
	if !result.IsWhollyKnown() && len(why) == 0 {
		why = []string{"a value that exists only when Terraform runs"}
	}
	return result, why
}

// resolve puts the value to which a reference leads into roots.
func (m *module) resolve(t hcl.Traversal, instance, roots map[string]cty.Value, why *[]string) {
	root := t.RootName()
	names := stepsOf(t)
	unknown := func(text string) cty.Value {
		if !slices.Contains(*why, text) {
			*why = append(*why, text)
		}
		return cty.DynamicVal
	}
	switch {
	case instance[root] != cty.NilVal:
		roots[root] = instance[root]
	case root == "path":
		roots[root] = cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal("."), "root": cty.StringVal("."), "cwd": cty.StringVal(".")})
	case (root == "var" || root == "local") && len(names) > 1:
		v, reasons := m.named2(root, names[1])
		for _, text := range reasons {
			unknown(text)
		}
		roots[root] = with(roots[root], names[1], v)
	case len(names) > 2 && m.resources[root+"."+names[1]] != nil:
		b := m.resources[root+"."+names[1]]
		v := cty.DynamicVal
		if a := b.Body.Attributes[names[2]]; a != nil && b.Body.Attributes["count"] == nil && b.Body.Attributes["for_each"] == nil {
			var reasons []string
			v, reasons = m.evaluate(a.Expr, nil)
			*why = append(*why, reasons...)
		} else {
			unknown(strings.Join(names[:min(len(names), 3)], ".") + ", which Azure sets")
		}
		roots[root] = with(roots[root], names[1], with(attribute(roots[root], names[1]), names[2], v))
	default:
		unknown(strings.Join(names[:min(len(names), 4)], ".") + ", which is not in the configuration")
		roots[root] = cty.DynamicVal
	}
}

// with returns an object with a member.
func with(o cty.Value, name string, v cty.Value) cty.Value {
	members := map[string]cty.Value{}
	if o != cty.NilVal && o.Type().IsObjectType() && o.IsKnown() && !o.IsNull() {
		members = o.AsValueMap()
		if members == nil {
			members = map[string]cty.Value{}
		}
	}
	members[name] = v
	return cty.ObjectVal(members)
}

func attribute(o cty.Value, name string) cty.Value {
	if o == cty.NilVal || !o.Type().IsObjectType() || !o.Type().HasAttribute(name) {
		return cty.NilVal
	}
	return o.GetAttr(name)
}

// stepsOf returns the names of a reference, up to the first index.
func stepsOf(t hcl.Traversal) (names []string) {
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, short(s.Name))
		case hcl.TraverseAttr:
			names = append(names, short(s.Name))
		default:
			return names
		}
	}
	return names
}

// named2 returns the value of a variable or a local.
func (m *module) named2(root, name string) (cty.Value, []string) {
	key := root + "." + name
	if known, ok := m.values[key]; ok {
		return known.Value, known.why
	}
	var e hcl.Expression
	if root == "local" {
		e = m.locals[name]
	} else if e = m.given[name]; e == nil && m.variables[name] != nil {
		if a := m.variables[name].Body.Attributes["default"]; a != nil {
			e = a.Expr
		}
	}
	if e == nil {
		return cty.DynamicVal, []string{key + ", which has no value in the source"}
	}
	v, why := m.evaluate(e, nil)
	m.values[key] = evaluated{v, why, measured(v)}
	return v, why
}

var runtimeFunctions = map[string]bool{"timestamp": true, "uuid": true, "plantimestamp": true, "bcrypt": true, "templatefile": true}

var wide = regexp.MustCompile(`%[^a-zA-Z%]*\d{4}`)

// unknownFunction is one whose value exists only when Terraform runs.
var unknownFunction = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "any", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true},
	Type:     function.StaticReturnType(cty.String),
	Impl:     func([]cty.Value, cty.Type) (cty.Value, error) { return cty.UnknownVal(cty.String), nil },
})

// ofText returns a function of a text.
func ofText(f func(s string) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f(args[0].AsString()) },
	})
}

var formatFunction = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "format", Type: cty.String}},
	VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
	Type:     function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if wide.MatchString(args[0].AsString()) {
			return cty.UnknownVal(cty.String), nil
		}
		return stdlib.FormatFunc.Call(args)
	},
})

// listFunction is list() of old configurations.
var listFunction = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "items", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true},
	Type:     function.StaticReturnType(cty.DynamicPseudoType),
	Impl:     func(args []cty.Value, _ cty.Type) (cty.Value, error) { return cty.TupleVal(args), nil },
})

var toStringFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "any", Type: cty.DynamicPseudoType, AllowNull: true}},
	Type:   function.StaticReturnType(cty.String),
	Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return convert.Convert(args[0], cty.String) },
})

// plain are the functions that need nothing of the module.
var plain = map[string]function.Function{
	"upper": stdlib.UpperFunc, "lower": stdlib.LowerFunc, "title": stdlib.TitleFunc, "trimspace": stdlib.TrimSpaceFunc, "trim": stdlib.TrimFunc,
	"trimprefix": stdlib.TrimPrefixFunc, "trimsuffix": stdlib.TrimSuffixFunc, "chomp": stdlib.ChompFunc, "replace": stdlib.ReplaceFunc,
	"substr": stdlib.SubstrFunc, "split": stdlib.SplitFunc, "join": stdlib.JoinFunc, "format": formatFunction, "concat": stdlib.ConcatFunc,
	"length": stdlib.LengthFunc, "element": stdlib.ElementFunc, "lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc, "keys": stdlib.KeysFunc,
	"values": stdlib.ValuesFunc, "contains": stdlib.ContainsFunc, "coalesce": stdlib.CoalesceFunc, "compact": stdlib.CompactFunc,
	"distinct": stdlib.DistinctFunc, "flatten": stdlib.FlattenFunc, "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
	"tonumber": stdlib.MakeToFunc(cty.Number), "tostring": toStringFunction, "jsonencode": stdlib.JSONEncodeFunc, "jsondecode": stdlib.JSONDecodeFunc,
	"min": stdlib.MinFunc, "max": stdlib.MaxFunc, "floor": stdlib.FloorFunc, "ceil": stdlib.CeilFunc, "formatdate": stdlib.FormatDateFunc,
	"timeadd": stdlib.TimeAddFunc, "sort": stdlib.SortFunc, "reverse": stdlib.ReverseListFunc, "slice": stdlib.SliceFunc, "indent": unknownFunction, "list": listFunction,
	"base64encode": ofText(func(s string) (cty.Value, error) {
		return cty.StringVal(base64.StdEncoding.EncodeToString([]byte(s))), nil
	}),
	"base64decode": ofText(func(s string) (cty.Value, error) {
		plain, err := base64.StdEncoding.DecodeString(s)
		return cty.StringVal(string(plain)), err
	}),
	"urlencode": ofTexts1(func(s string) string { return uriComponent(s) }),
}

func ofTexts1(f func(s string) string) function.Function {
	return ofText(func(s string) (cty.Value, error) { return cty.StringVal(f(s)), nil })
}

// functions returns the functions of the module. missing gets the reason of a file that is not there.
func (m *module) functions(missing *string) map[string]function.Function {
	all := maps.Clone(plain)
	for name, check := range checks {
		all[name] = limited(plain[name], check)
	}
	for name := range runtimeFunctions {
		all[name] = unknownFunction
	}
	read := func(inBase64 bool) function.Function {
		return ofText(func(name string) (cty.Value, error) {
			data, err := m.file(name)
			if err != nil {
				*missing = "a file that the configuration reads: " + err.Error()
				return cty.UnknownVal(cty.String), nil
			}
			if inBase64 {
				return cty.StringVal(base64.StdEncoding.EncodeToString(data)), nil
			}
			return cty.StringVal(string(data)), nil
		})
	}
	all["file"], all["filebase64"] = read(false), read(true)
	return all
}

// file returns what is in a file below the directory of the configuration.
func (m *module) file(name string) ([]byte, error) {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") {
		return nil, errors.New("it is not below the directory of the source")
	}
	file, err := m.first.Beside(name)
	if err != nil {
		return nil, err
	}
	data, err := source.ReadBytes(file.Dir, file.Path)
	if err != nil {
		return nil, err
	}
	if len(data) > maxHCLText {
		return nil, errors.New("it is larger than 1 MiB")
	}
	return data, nil
}
