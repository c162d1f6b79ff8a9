package azure

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
)

// innerBlocks are the blocks in resources, which Terraform's JSON writes as it writes arguments.
var innerBlocks = words(`action_web action_storage_queue error_action_web error_action_storage_queue retry recurrence monthly_occurrences
	authentication_basic authentication_certificate authentication_active_directory quota timeouts lifecycle`)

// labels are how many names blocks have; those of other kinds are left out.
var labels = map[string]int{"resource": 2, "module": 1, "variable": 1, "locals": 0}

// configurationJSON returns the blocks of a file of Terraform's JSON.
func (m *module) configurationJSON(file source.File, text string) (blocks []*hclsyntax.Block) {
	docs, err := value.ReadAll(text)
	if err != nil || len(docs) != 1 || docs[0].Kind != value.Object {
		if m.named[file.Path] {
			m.c.result.Problem(file.Name, 0, "it is no object in JSON")
		}
		return nil
	}
	j := jsonReader{file.Name}
	for _, member := range docs[0].Members {
		if n, ok := labels[member.Name]; ok {
			blocks = append(blocks, j.blocks(member.Name, nil, n, member.Value)...)
		}
	}
	return blocks
}

// A jsonReader makes blocks and expressions of JSON.
type jsonReader struct{ name string }

func (j jsonReader) at(v *value.Value) hcl.Range {
	pos := hcl.Pos{Line: v.Line, Column: 1}
	return hcl.Range{Filename: j.name, Start: pos, End: pos}
}

// blocks returns the blocks of a kind: so many objects in one another as they have names, and then one or a list.
func (j jsonReader) blocks(kind string, names []string, more int, v *value.Value) (all []*hclsyntax.Block) {
	switch {
	case v.Kind == value.List:
		for _, item := range v.Items {
			all = append(all, j.blocks(kind, names, more, item)...)
		}
	case v.Kind != value.Object:
	case more > 0:
		for _, m := range v.Members {
			all = append(all, j.blocks(kind, append(slices.Clip(names), m.Name), more-1, m.Value)...)
		}
	default:
		all = append(all, &hclsyntax.Block{Type: kind, Labels: names, Body: j.body(v, kind), TypeRange: j.at(v)})
	}
	return all
}

// body returns what is in a block. In locals, variables and modules there are only arguments.
func (j jsonReader) body(v *value.Value, kind string) *hclsyntax.Body {
	b := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: j.at(v), EndRange: j.at(v)}
	for _, m := range v.Members {
		switch plain := labels[kind] < 2 && kind != "content" && !innerBlocks[kind]; {
		case m.Name == "//":
		case !plain && m.Name == "dynamic":
			b.Blocks = append(b.Blocks, j.blocks("dynamic", nil, 1, m.Value)...)
		case kind == "dynamic" && m.Name == "content":
			b.Blocks = append(b.Blocks, j.blocks("content", nil, 0, m.Value)...)
		case !plain && innerBlocks[m.Name] && (m.Value.Kind == value.Object || m.Value.Kind == value.List):
			b.Blocks = append(b.Blocks, j.blocks(m.Name, nil, 0, m.Value)...)
		default:
			b.Attributes[m.Name] = &hclsyntax.Attribute{Name: m.Name, Expr: j.expression(m.Value), SrcRange: j.at(m.Value), NameRange: j.at(m.Value)}
		}
	}
	return b
}

// expression returns the expression of a value, whose texts are templates.
func (j jsonReader) expression(v *value.Value) hclsyntax.Expression {
	literal := func(c cty.Value) hclsyntax.Expression { return &hclsyntax.LiteralValueExpr{Val: c, SrcRange: j.at(v)} }
	switch v.Kind {
	case value.String:
		if !strings.Contains(v.Text, "${") && !strings.Contains(v.Text, "%{") {
			return literal(cty.StringVal(v.Text))
		}
		if e, problems := hclsyntax.ParseTemplate([]byte(v.Text), j.name, j.at(v).Start); !problems.HasErrors() && !tooDeep(v.Text) {
			return e
		}
		return literal(cty.DynamicVal)
	case value.List:
		e := &hclsyntax.TupleConsExpr{SrcRange: j.at(v)}
		for _, item := range v.Items {
			e.Exprs = append(e.Exprs, j.expression(item))
		}
		return e
	case value.Object:
		e := &hclsyntax.ObjectConsExpr{SrcRange: j.at(v)}
		for _, m := range v.Members {
			e.Items = append(e.Items, hclsyntax.ObjectConsItem{
				KeyExpr: j.expression(value.Text(m.Name, m.Value.Line)), ValueExpr: j.expression(m.Value),
			})
		}
		return e
	}
	return literal(toCty(v))
}
