package azure

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
)

// terraform reads configurations of Terraform: the files that are named, and those beside them, which belong to the same
// module.
func (c *collector) terraform(files []source.File) {
	modules := map[string]*module{}
	for _, file := range files {
		dir := path.Dir(file.Name)
		if modules[dir] == nil {
			modules[dir] = newModule(c, file)
		}
		modules[dir].add(file)
	}
	for _, dir := range sorted(modules) {
		modules[dir].read()
	}
}

// A module is a directory of a configuration.
type module struct {
	c         *collector
	first     source.File
	named     map[string]bool // paths of files that are named
	blocks    []moduleBlock
	variables map[string]*hclsyntax.Block
	given     map[string]hcl.Expression // of files of variables
	locals    map[string]hcl.Expression
	resources map[string]*hclsyntax.Block // by type.name
	values    map[string]cty.Value        // variables and locals, by var.x and local.x
	broken    []brokenLine
	visiting  int
	steps     int
	files     map[string]source.File
}

// quotedName matches the name of an argument in quotes, which stays where it is without them.
var quotedName = regexp.MustCompile(`(?m)^([ \t]*)"([A-Za-z_][A-Za-z0-9_-]*)"([ \t]*=[^=])`)

// misnamed returns how many names of arguments are in quotes.
func misnamed(problems hcl.Diagnostics) (n int) {
	for _, p := range problems {
		if p.Summary == "Invalid argument name" {
			n++
		}
	}
	return n
}

// A brokenLine is one that Terraform does not take.
type brokenLine struct {
	path string
	line int
}

type moduleBlock struct {
	file  source.File
	block *hclsyntax.Block
	named bool
}

func newModule(c *collector, first source.File) *module {
	return &module{
		c: c, first: first, named: map[string]bool{}, variables: map[string]*hclsyntax.Block{}, given: map[string]hcl.Expression{},
		locals: map[string]hcl.Expression{}, resources: map[string]*hclsyntax.Block{}, values: map[string]cty.Value{}, files: map[string]source.File{},
	}
}

func (m *module) add(file source.File) {
	m.named[file.Path] = true
	m.files[file.Path] = file
}

const maxModuleFiles = 500

// beside adds the files of the module that are not named.
func (m *module) beside() {
	if m.first.Dir == nil {
		return
	}
	dir := path.Dir(m.first.Path)
	entries, err := fs.ReadDir(m.first.Dir, dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".tf") && name != "terraform.tfvars" && !strings.HasSuffix(name, ".auto.tfvars") || len(m.files) > maxModuleFiles {
			continue
		}
		file, err := m.first.Beside(name)
		if err == nil && m.files[file.Path].Path == "" {
			m.files[file.Path] = file
		}
	}
}

func (m *module) read() {
	m.beside()
	for _, name := range sorted(m.files) {
		m.parse(m.files[name])
	}
	m.collect()
	m.secrets()
	before := len(m.c.result.Drafts) + len(m.c.result.Collections)
	for _, b := range m.blocks {
		if b.named {
			m.c.file = b.file
			m.resource(b)
		}
	}
	if len(m.c.result.Drafts)+len(m.c.result.Collections) == before {
		m.c.result.Problem(m.first.Name, 0, "the configuration has no job of Azure Scheduler")
	}
}

// parse reads a file. What can be read of one with errors is read.
func (m *module) parse(file source.File) {
	text, err := file.Read()
	if err != nil {
		m.c.result.Problem(file.Name, 0, err.Error())
		return
	}
	parsed, problems := hclsyntax.ParseConfig([]byte(text), file.Name, hcl.InitialPos)
	if problems.HasErrors() { // the language before Terraform 0.12 took names in quotes
		old := quotedName.ReplaceAllString(text, "$1 $2 $3")
		if again, rest := hclsyntax.ParseConfig([]byte(old), file.Name, hcl.InitialPos); misnamed(rest) < misnamed(problems) {
			parsed, problems = again, rest
		}
	}
	for _, p := range problems {
		line := 0
		if p.Subject != nil {
			line = p.Subject.Start.Line
			m.broken = append(m.broken, brokenLine{file.Path, line})
		}
		if m.named[file.Path] {
			m.c.result.Problem(file.Name, line, "Terraform does not take it: "+p.Summary) // the detail may quote the file
		}
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok {
		return
	}
	if strings.HasSuffix(file.Name, ".tfvars") {
		for name, a := range body.Attributes {
			m.given[name] = a.Expr
		}
		return
	}
	for _, b := range body.Blocks {
		m.blocks = append(m.blocks, moduleBlock{file, b, m.named[file.Path]})
	}
}

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
		case b.block.Type == "module" && b.named:
			m.c.result.Note(b.file.Name, b.block.TypeRange.Start.Line, "a module is not followed: import its files as well, or the state, which has the jobs of all modules")
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
		list := o.Get(b.Type)
		if list == nil || list.Kind != value.List {
			list = &value.Value{Kind: value.List, Line: b.TypeRange.Start.Line}
			o.Set(b.Type, list)
		}
		inner := m.body(b.Body, instance, depth+1)
		inner.Line = b.TypeRange.Start.Line
		list.Items = append(list.Items, inner)
	}
	return o
}
