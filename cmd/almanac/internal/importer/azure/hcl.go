package azure

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

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
