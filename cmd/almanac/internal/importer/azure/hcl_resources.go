package azure

import (
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/value"
)

// collect finds the variables, locals and resources of the module.
func (m *module) collect() {
	for _, b := range m.blocks {
		switch labels := b.block.Labels; {
		case b.block.Type == "variable" && len(labels) == 1:
			m.variables[labels[0]] = b.block
		case b.block.Type == "locals":
			for name, a := range b.block.Body.Attributes {
				m.locals[name] = a.Expr
			}
		case b.block.Type == "resource" && len(labels) == 2:
			m.resources[labels[0]+"."+labels[1]] = b.block
		}
	}
}

// secrets adds the values of variables that are sensitive, or whose names say so: old configurations have no other mark.
func (m *module) secrets() {
	for _, name := range sorted(m.variables) {
		v, why := m.named2("var", name)
		given := fromCty(v, why, 0, 0)
		if a := m.variables[name].Body.Attributes["sensitive"]; a != nil {
			if marked, _ := m.evaluate(a.Expr, nil); marked.IsKnown() && !marked.IsNull() && marked.Type() == cty.Bool && marked.True() {
				m.c.secret(given)
			}
		}
		if text, ok := given.Str(); ok {
			m.c.result.Variable(name, text)
		}
	}
}

const maxInstances = 1000

// resource reads a resource, as often as count or for_each says.
func (m *module) resource(b moduleBlock) {
	if b.block.Type != "resource" || len(b.block.Labels) != 2 {
		return
	}
	kind := b.block.Labels[0]
	if kind != terraformJob && kind != terraformCollection {
		return
	}
	line := b.block.TypeRange.Start.Line
	instances, ok := m.instances(b.block)
	if !ok {
		m.c.result.Problem(b.file.Name, line, fmt.Sprintf("the number of resources %s.%s (count, for_each) is not known, or more than %d: import the state in its place",
			kind, short(b.block.Labels[1]), maxInstances))
		return
	}
	if len(instances) == 0 {
		m.c.result.Note(b.file.Name, line, "a resource is left out, since its count is 0 or its for_each is empty")
		m.leftOut++
	}
	for _, instance := range instances {
		a := m.body(b.block.Body, instance, 0)
		a.Line = line
		if kind == terraformJob {
			d := m.c.terraformJob(a, line, true)
			for _, broken := range m.broken {
				if end := b.block.Body.EndRange.Start.Line; broken.path == b.file.Path && broken.line >= line && broken.line <= end {
					d.Say(importer.Never, "", broken.line, "Terraform does not take this line, so a part of the job may be missing")
				}
			}
		} else {
			m.c.terraformCollection(a, line)
		}
	}
}

// instances returns the variables of each instance of a resource.
func (m *module) instances(b *hclsyntax.Block) ([]map[string]cty.Value, bool) {
	count, forEach := b.Body.Attributes["count"], b.Body.Attributes["for_each"]
	switch {
	case count != nil:
		v, _ := m.evaluate(count.Expr, nil)
		if !v.IsWhollyKnown() || v.IsNull() || v.Type() != cty.Number {
			return nil, false
		}
		n, _ := v.AsBigFloat().Int64()
		if n < 0 || n > maxInstances {
			return nil, false
		}
		var all []map[string]cty.Value
		for i := range n {
			all = append(all, map[string]cty.Value{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(i)})})
		}
		return all, true
	case forEach != nil:
		v, _ := m.evaluate(forEach.Expr, nil)
		if !v.IsWhollyKnown() || v.IsNull() || !v.CanIterateElements() || v.LengthInt() > maxInstances {
			return nil, false
		}
		var all []map[string]cty.Value
		for it := v.ElementIterator(); it.Next(); {
			key, item := it.Element()
			if v.Type().IsSetType() {
				key = item
			}
			all = append(all, map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": item})})
		}
		return all, true
	}
	return []map[string]cty.Value{nil}, true
}

// body returns the attributes and blocks of a body. Blocks of a name are a list.
func (m *module) body(body *hclsyntax.Body, instance map[string]cty.Value, depth int) *value.Value {
	o := value.Obj(body.SrcRange.Start.Line)
	if depth > 10 {
		return o
	}
	for _, name := range sorted(body.Attributes) {
		a := body.Attributes[name]
		if depth == 0 && (name == "count" || name == "for_each" || name == "depends_on" || name == "provider") {
			continue
		}
		o.Set(name, m.value(a.Expr, instance, a.NameRange.Start.Line))
	}
	for _, b := range body.Blocks {
		if b.Type == "dynamic" && len(b.Labels) == 1 {
			m.dynamic(o, b, instance, depth)
			continue
		}
		m.block(o, b.Type, b.Body, b.TypeRange.Start.Line, instance, depth)
	}
	return o
}

// block adds a block to those of its name.
func (m *module) block(o *value.Value, name string, body *hclsyntax.Body, line int, instance map[string]cty.Value, depth int) {
	list := o.Get(name)
	if list != nil && list.Kind == value.Unknown {
		return
	}
	if list == nil || list.Kind != value.List {
		list = &value.Value{Kind: value.List, Line: line}
		o.Set(name, list)
	}
	inner := m.body(body, instance, depth+1)
	inner.Line = line
	list.Items = append(list.Items, inner)
}

// dynamic adds the blocks that a dynamic block makes; a value that is needed if that is not known.
func (m *module) dynamic(o *value.Value, b *hclsyntax.Block, instance map[string]cty.Value, depth int) {
	line, name := b.TypeRange.Start.Line, b.Labels[0]
	var content *hclsyntax.Body
	for _, inner := range b.Body.Blocks {
		if inner.Type == "content" {
			content = inner.Body
		}
	}
	iterator := name
	if a := b.Body.Attributes["iterator"]; a != nil {
		iterator = hcl.ExprAsKeyword(a.Expr)
	}
	each := b.Body.Attributes["for_each"]
	if content == nil || each == nil || iterator == "" {
		o.Set(name, value.Needed(line, "a dynamic block that cannot be read"))
		return
	}
	v, why := m.evaluate(each.Expr, instance)
	if v, _ = v.Unmark(); !v.IsKnown() || v.IsNull() || !v.CanIterateElements() || v.LengthInt() > maxInstances {
		o.Set(name, value.Needed(line, append(why, "how many blocks a dynamic block makes")...))
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		key, item := it.Element()
		if v.Type().IsSetType() {
			key = item
		}
		inner := maps.Clone(instance)
		if inner == nil {
			inner = map[string]cty.Value{}
		}
		inner[iterator] = cty.ObjectVal(map[string]cty.Value{"key": key, "value": item})
		m.block(o, name, content, line, inner, depth)
	}
}
