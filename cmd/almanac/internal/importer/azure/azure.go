// Package azure reads job definitions of Azure Scheduler: templates of Azure Resource Manager, answers of its REST API
// and of PowerShell, and states and configurations of Terraform.
package azure

import (
	"fmt"
	"maps"
	"path"
	"sort"
	"strings"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
)

// Read reads files. Files of parameters among them are for the templates.
func Read(files []source.File, o importer.Options) importer.Result {
	c := &collector{o: o, names: importer.Names{}}
	var terraform []source.File
	for _, file := range files {
		switch ext := strings.ToLower(path.Ext(file.Name)); {
		case isConfiguration(strings.ToLower(file.Name)) || isVariables(strings.ToLower(file.Name)):
			terraform = append(terraform, file)
		case ext == ".bicep":
			c.result.Problem(file.Name, 0, "it is Bicep: build it first (bicep build), and import the template")
		default:
			c.documents(file)
		}
	}
	for _, file := range o.Parameters {
		c.parameterFile(file)
	}
	c.templates()
	c.terraform(terraform)
	return c.result
}

// A collector collects what files have.
type collector struct {
	o      importer.Options
	result importer.Result
	names  importer.Names
	file   source.File // that is read

	states     map[string]bool // directories of states that have a job
	followed   map[string]bool // directories of modules of other configurations
	modules    int             // how often one was followed
	waiting    []document      // templates, until all files of parameters are known
	parameters []document
	all        map[string]*value.Value // from --parameters
	usedNow    bool
	steps      int
	made       int  // bytes, see maxMade
	over       bool // the budget is used up
	nesting    int
	links      int
}

// A document is one of a file.
type document struct {
	file     source.File
	value    *value.Value
	exported bool
	used     bool
}

func (c *collector) documents(file source.File) {
	text, err := file.Read()
	if err != nil {
		c.result.Problem(file.Name, 0, err.Error())
		return
	}
	c.file = file
	docs, err := value.ReadAll(text)
	if err != nil {
		what := "it is not JSON from here on: "
		if len(docs) == 0 {
			what = "it is not JSON: "
		}
		line := 0
		if e, ok := err.(*value.SyntaxError); ok { //nolint:errorlint // it is never wrapped
			line, err = e.Line, fmt.Errorf("%s", e.Reason)
		}
		c.result.Problem(file.Name, line, what+err.Error())
	}
	found := 0
	for _, doc := range docs {
		found += c.document(doc, 0)
	}
	if found == 0 && err == nil {
		c.result.Problem(file.Name, 0, "it has nothing of Azure Scheduler")
	}
}

// document reads a document, and returns how many things of use it has.
func (c *collector) document(doc *value.Value, depth int) int {
	if depth > 4 {
		return 0
	}
	schema, _ := doc.Get("$schema").Str()
	schema = strings.ToLower(schema)
	list := doc.Get("value")
	switch {
	case doc.Kind == value.List:
		list = doc
	case doc.Kind != value.Object:
		return 0
	case strings.Contains(schema, "deploymentparameters"),
		schema == "" && doc.Get("parameters") != nil && doc.Get("resources") == nil && doc.Get("properties") == nil && doc.Get("template") == nil:
		c.parameters = append(c.parameters, document{file: c.file, value: doc})
		return 1
	case isState(doc):
		c.state(doc)
		return 1
	case strings.Contains(schema, "deploymenttemplate"), doc.Get("resources") != nil && doc.Get("contentVersion") != nil:
		c.waiting = append(c.waiting, document{file: c.file, value: doc})
		return 1
	case doc.Get("template", "resources") != nil:
		c.waiting = append(c.waiting, document{file: c.file, value: doc.Get("template"), exported: true})
		return 1
	}
	if list == nil || list.Kind != value.List {
		return c.dumped(doc)
	}
	found := 0
	for _, item := range list.Items {
		found += c.document(item, depth+1)
	}
	if next, ok := doc.Get("nextLink").Str(); ok && next != "" {
		c.result.Problem(c.file.Name, doc.Get("nextLink").Line, "the list continues at its nextLink, so jobs are missing: get the other pages as well")
	}
	if doc.Kind == value.Object && len(list.Items) == 0 {
		c.result.Note(c.file.Name, doc.Line, "an empty list")
		found++
	}
	return found
}

// dumped reads a resource of an answer.
func (c *collector) dumped(doc *value.Value) int {
	kind, _ := doc.Get("type").Str()
	if of, ok := doc.Get("ResourceType").Str(); ok { // of Get-AzResource
		kind = of
		if id := doc.Get("ResourceId"); id != nil {
			doc.Set("id", id)
		}
	}
	kind = strings.ToLower(kind)
	switch {
	case doc.Get("JobName") != nil && doc.Get("JobCollectionName") != nil:
		c.powerShell(doc)
	case kind == jobType, kind == "" && strings.Contains(strings.ToLower(text(doc.Get("id"))), "/jobcollections/") && doc.Get("properties", "action") != nil:
		c.job(c.dumpedName(doc), object(doc.Get("properties")), doc.LineOr(1), origin{exists: answered(doc), group: groupOf(doc)})
	case kind == collectionType:
		c.collection(groupOf(doc), text(doc.Get("name")), doc.Get("location"), doc.Get("tags"), doc.Get("properties"), doc.Line)
		for _, inner := range itemsOf(doc.Get("resources")) {
			c.dumped(inner)
		}
	case doc.Get("properties", "action") != nil && (kind == "" || kind == "jobs"):
		c.job(c.dumpedName(doc), object(doc.Get("properties")), doc.LineOr(1), origin{exists: answered(doc), group: groupOf(doc)})
	case doc.Get("action", "type") != nil:
		c.job(c.dumpedName(doc), doc, doc.LineOr(1), origin{exists: answered(doc), group: groupOf(doc)})
	default:
		return 0
	}
	return 1
}

func itemsOf(v *value.Value) []*value.Value {
	if v == nil {
		return nil
	}
	return v.Items
}

// groupOf returns the resource group in the id of a resource; "" if there is none.
func groupOf(doc *value.Value) string {
	parts := strings.Split(text(doc.Get("id")), "/")
	for i, part := range parts {
		if strings.EqualFold(part, "resourceGroups") && i+1 < len(parts) {
			return parts[i+1]
		}
	}
	return text(doc.Get("resourceGroup"))
}

// answered reports whether a job is an answer of the service, and no body that is sent: it has an id or a status.
func answered(doc *value.Value) bool {
	return doc.Get("id") != nil || doc.Get("status") != nil || doc.Get("properties", "status") != nil
}

// dumpedName returns the name of a job, collection/job; if it has none, that of the file.
func (c *collector) dumpedName(doc *value.Value) *value.Value {
	id, _ := doc.Get("id").Str()
	parts := strings.Split(id, "/")
	for i, part := range parts {
		if strings.EqualFold(part, "jobCollections") && i+3 < len(parts) && strings.EqualFold(parts[i+2], "jobs") {
			return value.Text(parts[i+1]+"/"+parts[i+3], doc.Line)
		}
	}
	if name := doc.Get("name"); name != nil {
		return name
	}
	if id != "" && !strings.Contains(id, "/") { // of the classic API
		return value.Text(id, doc.Line)
	}
	base := path.Base(c.file.Name)
	return value.Text(c.names.Of(strings.TrimSuffix(base, path.Ext(base))), doc.Line)
}

// parameterFile reads a file that --parameters names.
func (c *collector) parameterFile(file source.File) {
	text, err := file.Read()
	if err != nil {
		c.result.Problem(file.Name, 0, err.Error())
		return
	}
	docs, err := value.ReadAll(text)
	if err != nil {
		c.result.Problem(file.Name, 0, "it is not JSON: "+err.Error())
		return
	}
	if c.all == nil {
		c.all = map[string]*value.Value{}
	}
	for _, doc := range docs {
		maps.Copy(c.all, parametersOf(doc))
	}
}

// templates reads the templates, each with its parameters: those of --parameters, else those of the file with its name
// (x.parameters.json for x.json), else those of the only file of parameters if there is one template.
func (c *collector) templates() {
	for _, t := range c.waiting {
		c.file = t.file
		given := map[string]*value.Value{}
		for i := range c.parameters {
			p := &c.parameters[i]
			if len(c.waiting) == 1 && len(c.parameters) == 1 || stem(p.file.Name) == stem(t.file.Name) {
				p.used = true
				maps.Copy(given, parametersOf(p.value))
			}
		}
		maps.Copy(given, c.all)
		before := len(c.result.Drafts) + len(c.result.Problems)
		c.usedNow = false
		c.template(t.value, given, t.exported, 0, &scope{})
		if len(c.result.Drafts)+len(c.result.Problems) == before {
			c.result.Problem(t.file.Name, t.value.Line, "the template has no job of Azure Scheduler")
		}
		if c.usedNow {
			c.result.Note(t.file.Name, 0, "utcNow() is taken as "+c.o.Now.UTC().Format("2006-01-02T15:04:05Z")+", the time of the import")
		}
	}
	for _, p := range c.parameters {
		if !p.used {
			c.result.Problem(p.file.Name, 0, "it is clear of no template whether these parameters are its: name the file after the template (x.parameters.json for x.json), or give it with --parameters")
		}
	}
}

// stem returns the name of a file in lower case without its endings.
func stem(name string) string {
	dir, base := path.Split(strings.ToLower(name))
	base = strings.TrimSuffix(base, ".json")
	base = strings.TrimSuffix(base, ".parameters")
	return dir + strings.TrimSuffix(base, ".template")
}

// collection adds a job collection.
func (c *collector) collection(group, name string, location, tags, properties *value.Value, line int) {
	body := value.Obj(line)
	for _, m := range []value.Member{{Name: "location", Value: location}, {Name: "tags", Value: tags}, {Name: "properties", Value: properties}} {
		if m.Value != nil && (m.Value.Kind != value.Unknown || m.Name == "properties") {
			body.Set(m.Name, m.Value)
		}
	}
	c.result.Collections = append(c.result.Collections, &importer.Collection{Group: group, Name: name, File: c.file.Name, Line: line, Body: body})
}

// sorted returns the names of a map in order.
func sorted[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
