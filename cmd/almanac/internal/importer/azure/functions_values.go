package azure

import (
	"slices"
	"strings"

	"almanac/cmd/almanac/internal/importer/value"
)

func toText(_ *scope, args []*value.Value) *value.Value {
	if len(args) != 1 {
		return nil
	}
	if text, ok := args[0].Str(); ok {
		return value.Text(text, 0)
	}
	text, err := args[0].MarshalJSON()
	if err != nil || len(text) > maxText {
		return nil
	}
	return value.Text(string(text), 0)
}

func toInt(_ *scope, args []*value.Value) *value.Value {
	if len(args) == 1 {
		if n, ok := args[0].Whole(); ok {
			return value.Int(n, 0)
		}
	}
	return nil
}

func toBool(_ *scope, args []*value.Value) *value.Value {
	if len(args) == 1 {
		return value.Boolean(args[0].Is("true") || args[0].Is("1"), 0)
	}
	return nil
}

func fromJSON(_ *scope, args []*value.Value) *value.Value {
	text, ok := "", len(args) == 1
	if ok {
		text, ok = args[0].Str()
	}
	if !ok || len(text) > maxText {
		return nil
	}
	all, err := value.ReadAll(text)
	if err != nil || len(all) != 1 {
		return nil
	}
	return all[0]
}

func substring(_ *scope, args []*value.Value) *value.Value {
	if len(args) < 2 {
		return nil
	}
	text, ok := args[0].Str()
	from, also := args[1].Whole()
	r := []rune(text)
	n := len(r) - from
	if len(args) == 3 {
		n, _ = args[2].Whole()
	}
	if !ok || !also || from < 0 || n < 0 || from > len(r) || n > len(r)-from {
		return nil
	}
	return value.Text(string(r[from:from+n]), 0)
}

// maxParts is how many texts a text is split into at most.
const maxParts = 50_000

func split(_ *scope, args []*value.Value) *value.Value {
	t, ok := texts(args)
	if !ok || len(t) != 2 || t[1] == "" || strings.Count(t[0], t[1]) > maxParts {
		return nil
	}
	all := &value.Value{Kind: value.List}
	for part := range strings.SplitSeq(t[0], t[1]) {
		all.Items = append(all.Items, value.Text(part, 0))
	}
	return all
}

func join(_ *scope, args []*value.Value) *value.Value {
	if len(args) != 2 {
		return nil
	}
	t, ok := texts(args[0].Items)
	separator, also := args[1].Str()
	if !ok || !also || len(separator)*len(t) > maxText {
		return nil
	}
	text := strings.Join(t, separator)
	if len(text) > maxText {
		return nil
	}
	return value.Text(text, 0)
}

func size(v *value.Value) int {
	switch v.Kind {
	case value.List:
		return len(v.Items)
	case value.Object:
		return len(v.Members)
	}
	return len([]rune(v.Text))
}

func length(_ *scope, args []*value.Value) *value.Value {
	if len(args) != 1 {
		return nil
	}
	return value.Int(size(args[0]), 0)
}

func empty(_ *scope, args []*value.Value) *value.Value {
	if len(args) != 1 {
		return nil
	}
	return value.Boolean(size(args[0]) == 0, 0)
}

func first(_ *scope, args []*value.Value) *value.Value { return pick(args, true) }
func last(_ *scope, args []*value.Value) *value.Value  { return pick(args, false) }

func pick(args []*value.Value, first bool) *value.Value {
	if len(args) != 1 || size(args[0]) == 0 {
		return nil
	}
	at := size(args[0]) - 1
	if first {
		at = 0
	}
	if args[0].Kind == value.List {
		return args[0].Items[at]
	}
	if args[0].Kind == value.String {
		return value.Text(string([]rune(args[0].Text)[at]), 0)
	}
	return nil
}

func contains(_ *scope, args []*value.Value) *value.Value {
	if len(args) != 2 {
		return nil
	}
	what, ok := args[1].Str()
	if !ok {
		return nil
	}
	switch args[0].Kind {
	case value.List:
		return value.Boolean(slices.ContainsFunc(args[0].Items, func(v *value.Value) bool { return v.Text == what }), 0)
	case value.Object:
		return value.Boolean(args[0].Get(what) != nil, 0)
	}
	return value.Boolean(strings.Contains(args[0].Text, what), 0)
}

func equals(_ *scope, args []*value.Value) *value.Value {
	if len(args) != 2 {
		return nil
	}
	a, err := args[0].MarshalJSON()
	b, also := args[1].MarshalJSON()
	if err != nil || also != nil {
		return nil
	}
	return value.Boolean(string(a) == string(b), 0)
}

func not(_ *scope, args []*value.Value) *value.Value {
	if len(args) != 1 {
		return nil
	}
	return value.Boolean(!args[0].Is("true"), 0)
}

func and(_ *scope, args []*value.Value) *value.Value {
	return value.Boolean(!slices.ContainsFunc(args, func(v *value.Value) bool { return !v.Is("true") }), 0)
}

func or(_ *scope, args []*value.Value) *value.Value {
	return value.Boolean(slices.ContainsFunc(args, func(v *value.Value) bool { return v.Is("true") }), 0)
}

func divide(a, b int) (int, bool) {
	if b == 0 {
		return 0, false
	}
	return a / b, true
}

func modulo(a, b int) (int, bool) {
	if b == 0 {
		return 0, false
	}
	return a % b, true
}

func list(_ *scope, args []*value.Value) *value.Value {
	return &value.Value{Kind: value.List, Items: args}
}

func array(_ *scope, args []*value.Value) *value.Value {
	if len(args) == 1 && args[0].Kind == value.List {
		return args[0]
	}
	return &value.Value{Kind: value.List, Items: args}
}

func createObject(_ *scope, args []*value.Value) *value.Value {
	var members []value.Member
	for i := 0; i+1 < len(args); i += 2 {
		name, ok := args[i].Str()
		if !ok {
			return nil
		}
		members = append(members, value.Member{Name: name, Value: args[i+1]})
	}
	return joined(members)
}

func union(_ *scope, args []*value.Value) *value.Value {
	if len(args) == 0 || args[0].Kind != value.Object {
		return concat(nil, args)
	}
	var members []value.Member
	for _, a := range args {
		members = append(members, a.Members...)
	}
	return joined(members)
}

// joined returns an object of members; of those with the same name the last one counts.
func joined(members []value.Member) *value.Value {
	o := value.Obj(0)
	at := map[string]int{}
	for _, m := range members {
		key := strings.ToLower(m.Name)
		i, found := at[key]
		if !found {
			at[key] = len(o.Members)
			o.Members = append(o.Members, m)
			continue
		}
		o.Members[i].Value = m.Value
	}
	return o
}

func coalesce(_ *scope, args []*value.Value) *value.Value {
	for _, a := range args {
		if a.Kind != value.Null {
			return a
		}
	}
	return &value.Value{}
}
