package azure

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
)

// terraform reads configurations of Terraform: the files that are named, and those beside them, which belong to the same
// module. Files of variables that are named apply to the module beside them, or else to all modules.
func (c *collector) terraform(files []source.File) {
	modules := map[string]*module{}
	for _, file := range files {
		if dir := path.Dir(file.Name); !isVariables(file.Name) {
			if modules[dir] == nil {
				modules[dir] = newModule(c, file)
			}
			modules[dir].add(file)
		}
	}
	for _, file := range files {
		own := modules[path.Dir(file.Name)]
		switch {
		case !isVariables(file.Name):
		case own != nil:
			own.variableFile(file)
		case len(modules) == 0 || file.Listed:
			c.result.Problem(file.Name, 0, "it has variables, and there is no configuration (.tf) to which they apply: name it as well")
		default:
			for _, dir := range sorted(modules) {
				modules[dir].variableFile(file)
			}
		}
	}
	for _, dir := range sorted(modules) {
		if c.states[dir] {
			c.result.Note(modules[dir].first.Name, 0, "the configuration is left out, since its state is imported, which has the same jobs")
			continue
		}
		if c.followed[dir] {
			c.result.Note(modules[dir].first.Name, 0, "it is read as a module of another configuration, with the values that it has there")
			continue
		}
		modules[dir].read()
	}
}

// isConfiguration reports whether a file is one of a configuration.
func isConfiguration(name string) bool {
	return strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tf.json")
}

// isVariables reports whether a file gives variables of a configuration.
func isVariables(name string) bool {
	return strings.HasSuffix(name, ".tfvars") || strings.HasSuffix(name, ".tfvars.json")
}

// rank orders the files of variables that Terraform reads by itself; 0 for others.
func rank(name string) int {
	switch {
	case name == "terraform.tfvars":
		return 1
	case name == "terraform.tfvars.json":
		return 2
	case strings.HasSuffix(name, ".auto.tfvars"), strings.HasSuffix(name, ".auto.tfvars.json"):
		return 3
	}
	return 0
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
	values    map[string]evaluated        // variables and locals, by var.x and local.x
	broken    []brokenLine
	visiting  int
	leftOut   int // resources of which there are none
	steps     int
	files     map[string]source.File
	automatic map[string]source.File // of variables, that Terraform reads by itself
	asked     []source.File          // of variables, that are named, in order
	others    []source.File          // of variables, that are in the directory
	depth     int                    // modules around it
}

// variableFile adds a file of variables.
func (m *module) variableFile(file source.File) {
	switch {
	case path.Dir(file.Name) == path.Dir(m.first.Name) && rank(path.Base(file.Name)) > 0:
		m.automatic[path.Base(file.Name)] = file
	case !file.Listed:
		m.asked = append(m.asked, file)
	default:
		m.others = append(m.others, file)
	}
}

// variableFiles returns the files of variables in the order in which Terraform reads them; later ones count.
func (m *module) variableFiles() []source.File {
	names := sorted(m.automatic)
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	var all []source.File
	for _, name := range names {
		all = append(all, m.automatic[name])
	}
	named := func(file source.File) bool {
		return slices.ContainsFunc(m.asked, func(a source.File) bool { return a.Name == file.Name })
	}
	m.others = slices.DeleteFunc(m.others, named)
	switch {
	case len(m.others) == 1 && len(m.asked) == 0:
		all = append(all, m.others[0])
		m.c.result.Note(m.others[0].Name, 0, "these variables are taken, as the only ones of the directory that Terraform does not read by itself")
	case len(m.asked) == 0:
		for _, file := range m.others {
			m.c.result.Problem(file.Name, 0, "it is not clear which files of variables apply: name those that do beside the directory, in the order of -var-file")
		}
	}
	return append(all, m.asked...)
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

// An evaluated value, with the reasons of what is not known of it.
type evaluated struct {
	cty.Value

	why []string
	of  measure
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
		locals: map[string]hcl.Expression{}, resources: map[string]*hclsyntax.Block{}, values: map[string]evaluated{}, files: map[string]source.File{},
		automatic: map[string]source.File{},
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
		if !isConfiguration(name) && rank(name) == 0 || len(m.files)+len(m.automatic) > maxModuleFiles {
			continue
		}
		file, err := m.first.Beside(name)
		switch {
		case err != nil:
		case rank(name) > 0:
			if m.automatic[name].Path == "" {
				m.automatic[name] = file
			}
		case m.files[file.Path].Path == "":
			m.files[file.Path] = file
		}
	}
}

func (m *module) read() {
	m.beside()
	for _, name := range sorted(m.files) {
		m.parse(m.files[name])
	}
	for _, file := range m.variableFiles() {
		m.named[file.Path] = true
		if strings.HasSuffix(file.Name, ".json") {
			m.variablesJSON(file)
		} else {
			m.parse(file)
		}
	}
	m.collect()
	m.secrets()
	before := len(m.c.result.Drafts) + len(m.c.result.Collections)
	for _, b := range m.blocks {
		if b.named {
			m.c.file = b.file
			m.resource(b)
			m.child(b)
		}
	}
	if len(m.c.result.Drafts)+len(m.c.result.Collections) == before && m.leftOut == 0 && m.depth == 0 {
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
	if len(text) > maxHCLFile || tooDeep(text) {
		m.c.result.Problem(file.Name, 0, "it is too large, or has too many brackets in brackets")
		return
	}
	if strings.HasSuffix(file.Name, ".tf.json") {
		for _, b := range m.configurationJSON(file, text) {
			m.blocks = append(m.blocks, moduleBlock{file, b, m.named[file.Path]})
		}
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

// variablesJSON reads a file of variables in JSON.
func (m *module) variablesJSON(file source.File) {
	text, err := file.Read()
	if err != nil {
		m.c.result.Problem(file.Name, 0, err.Error())
		return
	}
	docs, err := value.ReadAll(text)
	if err != nil || len(docs) != 1 || docs[0].Kind != value.Object {
		m.c.result.Problem(file.Name, 0, "it is no object in JSON with values of variables")
		return
	}
	for _, v := range docs[0].Members {
		m.given[v.Name] = hcl.StaticExpr(toCty(v.Value), hcl.Range{Filename: file.Name, Start: hcl.Pos{Line: v.Value.Line}})
	}
}

// toCty returns a value of JSON as one of Terraform.
func toCty(v *value.Value) cty.Value {
	switch v.Kind {
	case value.Bool:
		return cty.BoolVal(v.Text == "true")
	case value.Number:
		if n, err := cty.ParseNumberVal(v.Text); err == nil && !hugeNumber(n) {
			return n
		}
		return cty.DynamicVal
	case value.String:
		return cty.StringVal(v.Text)
	case value.List:
		items := []cty.Value{}
		for _, item := range v.Items {
			items = append(items, toCty(item))
		}
		return cty.TupleVal(items)
	case value.Object:
		members := map[string]cty.Value{}
		for _, m := range v.Members {
			members[m.Name] = toCty(m.Value)
		}
		return cty.ObjectVal(members)
	}
	return cty.NullVal(cty.DynamicPseudoType)
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
