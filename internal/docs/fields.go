package docs

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resources are the schemas that the reference of fields begins with.
var resources = []struct{ title, schema string }{
	{"Job", "JobDefinition"},
	{"Job collection", "JobCollectionDefinition"},
	{"History entry", "JobHistoryDefinition"},
}

// types are the schemas that are no objects, and are explained once.
var types = []string{"Name", "Time", "Duration", "StringMap"}

// Fields returns the reference of fields, docs/fields.md, for an OpenAPI description.
func Fields(openapi []byte) (string, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(openapi, &root); err != nil {
		return "", fmt.Errorf("reading the OpenAPI description: %w", err)
	}
	r := &reference{schemas: member(member(root.Content[0], "components"), "schemas"), headings: map[*yaml.Node]string{}}
	r.write() // finds the headings that links lead to
	r = &reference{schemas: r.schemas, headings: r.headings}
	r.write()
	return strings.TrimSpace(r.String()) + "\n", nil
}

const introduction = `# Field reference

Every member of a job, of a job collection and of an entry of a history. This page is generated from the OpenAPI description
(` + "`api/openapi.yaml`" + `), which a running Almanac serves at ` + "`/openapi.yaml`" + ` and shows at ` + "`/docs`" + `.

- *Default* is what holds if the member is absent. **required** means that a request must have it.
- *Read-only* members are in answers. A PUT may send back what was read.
- *Write-only* members are in requests only: no answer has them.
- *Extension* marks what Azure Scheduler did not have.
- An unknown member is refused with a 400 where it could change what the job does.
- A job is at most 16 KiB of JSON.

`

// A reference is the page as it is written.
type reference struct {
	strings.Builder
	schemas   *yaml.Node
	headings  map[*yaml.Node]string // of all objects, by schema
	described []*yaml.Node          // the schemas of the objects that are on the page
}

func (r *reference) write() {
	r.WriteString(introduction)
	for _, resource := range resources {
		r.object(resource.title, "", r.schema(resource.schema))
	}
	r.WriteString("## Types\n\n")
	for _, name := range types {
		fmt.Fprintf(r, "### %s\n\n%s\n\n", name, r.explained(r.schema(name)))
	}
}

func (r *reference) schema(name string) *yaml.Node { return member(r.schemas, name) }

// object describes the object at a path of members, and then the objects in it.
func (r *reference) object(resource, path string, schema *yaml.Node) {
	if alternatives := member(schema, "oneOf"); alternatives != nil && member(schema, "properties") == nil {
		r.alternatives(resource, path, schema, alternatives)
		return
	}
	r.heading(resource, path, schema, "")
	fmt.Fprintf(r, "%s\n\n", r.explained(schema))
	r.members(schema)
	r.within(resource, path, schema)
}

// alternatives describes an object whose member type decides what else it has.
func (r *reference) alternatives(resource, path string, either, alternatives *yaml.Node) {
	r.heading(resource, path, either, "")
	fmt.Fprintf(r, "%s The member `type` decides which others there are:\n\n", r.explained(either))
	for _, a := range alternatives.Content {
		fmt.Fprintf(r, "- `%s`\n", text(r.resolve(a), "properties", "type", "const"))
	}
	r.WriteString("\n")
	for _, a := range alternatives.Content {
		schema := r.resolve(a)
		r.heading(resource, path, schema, " of type `"+text(schema, "properties", "type", "const")+"`")
		fmt.Fprintf(r, "%s\n\n", r.explained(schema))
		r.members(schema)
	}
}

func (r *reference) heading(resource, path string, schema *yaml.Node, more string) {
	heading := resource
	level := "##"
	if path != "" {
		level, heading = "###", resource+": `"+path+"`"+more
	}
	r.headings[schema], r.described = heading, append(r.described, schema)
	fmt.Fprintf(r, "%s %s\n\n", level, heading)
}

// members writes the table of an object's members.
func (r *reference) members(schema *yaml.Node) {
	r.WriteString("| member | type | default | allowed | meaning |\n|---|---|---|---|---|\n")
	required := words(member(schema, "required"))
	var long []string
	each(member(schema, "properties"), func(name string, m *yaml.Node) {
		meaning, absent := r.meaning(m)
		if slices.Contains(required, name) && !is(m, "readOnly") {
			absent = "**required**"
		}
		if short, rest, found := strings.Cut(meaning, "\n\n"); found { // lists and tables fit no cell
			long = append(long, fmt.Sprintf("`%s`:\n\n%s", name, rest))
			meaning = short
		}
		fmt.Fprintf(r, "| `%s` | %s | %s | %s | %s |\n", name, r.kind(m), absent, r.allowed(m), cell(meaning))
	})
	r.WriteString("\n")
	for _, l := range long {
		fmt.Fprintf(r, "%s\n\n", strings.TrimSpace(l))
	}
}

// within describes the objects among the members, each once.
func (r *reference) within(resource, path string, schema *yaml.Node) {
	each(member(schema, "properties"), func(name string, m *yaml.Node) {
		if items := member(m, "items"); items != nil {
			name, m = name+"[]", items
		}
		object := r.resolve(m)
		if slices.Contains(r.described, object) || !isObject(object) {
			return
		}
		r.object(resource, strings.TrimPrefix(path+"."+name, "."), object)
	})
}

// defaultSentence says what holds if a member is absent.
var defaultSentence = regexp.MustCompile(`(?:^|\s)The default is\s+([^.]+)\.`)

// meaning returns what a member means, and what holds if it is absent.
func (r *reference) meaning(m *yaml.Node) (meaning, absent string) {
	meaning = r.explained(m)
	if d := r.find(m, "default"); d != nil {
		absent = "`" + d.Value + "`"
	} else if found := defaultSentence.FindStringSubmatch(meaning); found != nil {
		if absent = cell(found[1]); slices.Contains(words(r.find(m, "enum")), absent) {
			absent = "`" + absent + "`"
		}
		meaning = strings.Replace(meaning, found[0], "", 1)
	}
	if is(m, "writeOnly") {
		meaning = "*Write-only.* " + meaning
	}
	if is(m, "readOnly") {
		meaning = "*Read-only.* " + meaning
	}
	return strings.TrimSpace(meaning), absent
}

// explained returns the description of a schema.
func (r *reference) explained(m *yaml.Node) string {
	if d := r.find(m, "description"); d != nil {
		return strings.TrimSpace(d.Value)
	}
	return ""
}

// kind returns the type of a member, with a link to where it is described.
func (r *reference) kind(m *yaml.Node) string {
	if items := member(m, "items"); items != nil {
		return "list of " + r.kind(items)
	}
	name, schema := referred(m), r.resolve(m)
	switch {
	case isObject(schema):
		return "[object](#" + slug(r.headings[schema]) + ")"
	case slices.Contains(types, name):
		return "[" + name + "](#" + slug(name) + ")"
	}
	if t := member(schema, "type"); t != nil {
		return strings.Join(words(t), " or ")
	}
	return "string"
}

// allowed returns the limits of a member in words.
func (r *reference) allowed(m *yaml.Node) string {
	prefix := ""
	if items := member(m, "items"); items != nil {
		m, prefix = items, "each "
	}
	schema := r.resolve(m)
	if alternatives := member(schema, "anyOf"); alternatives != nil {
		schema = alternatives.Content[0]
	}
	var limits []string
	if values := words(member(schema, "enum")); values != nil {
		limits = append(limits, "`"+strings.Join(values, "`, `")+"`")
	}
	if c := member(schema, "const"); c != nil {
		limits = append(limits, "`"+c.Value+"`")
	}
	limits = append(limits, between(schema, "minimum", "maximum", "")...)
	limits = append(limits, between(schema, "minLength", "maxLength", " "+cmp.Or(text(schema, "x-unit"), "characters"))...)
	if most := r.find(m, "maxProperties"); most != nil {
		limits = append(limits, "at most "+number(most))
	}
	if not := member(member(schema, "not"), "const"); not != nil {
		limits = append(limits, "not "+not.Value)
	}
	if limits == nil {
		return ""
	}
	return prefix + strings.Join(limits, ", ")
}

func between(schema *yaml.Node, least, most, unit string) []string {
	low, high := member(schema, least), member(schema, most)
	switch {
	case low != nil && high != nil:
		return []string{number(low) + " to " + number(high) + unit}
	case high != nil:
		return []string{"at most " + number(high) + unit}
	case low != nil && unit != "" && low.Value == "1":
		return []string{"not empty"}
	case low != nil:
		return []string{"at least " + number(low) + unit}
	}
	return nil
}

// number returns a number with commas between thousands.
func number(n *yaml.Node) string {
	digits := n.Value
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// cell returns a text as a cell of a table takes it.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// member returns what a map has under a name, or nil.
func member(m *yaml.Node, name string) *yaml.Node {
	var found *yaml.Node
	each(m, func(n string, v *yaml.Node) {
		if n == name {
			found = v
		}
	})
	return found
}

// each calls f for each member of a map in its order.
func each(m *yaml.Node, f func(name string, value *yaml.Node)) {
	if m == nil || m.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		value := m.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		f(m.Content[i].Value, value)
	}
}

// words returns a list of values, or the one value that there is.
func words(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var all []string
	for _, c := range n.Content {
		all = append(all, c.Value)
	}
	return all
}

// referred returns the name of the schema that a member refers to, or "".
func referred(m *yaml.Node) string {
	ref := member(m, "$ref")
	if ref == nil {
		return ""
	}
	return strings.TrimPrefix(ref.Value, "#/components/schemas/")
}

// resolve returns the schema that a member refers to, or else the member.
func (r *reference) resolve(m *yaml.Node) *yaml.Node {
	if name := referred(m); name != "" {
		return r.schema(name)
	}
	return m
}

// find returns what a member says of itself, or else what its schema says.
func (r *reference) find(m *yaml.Node, name string) *yaml.Node {
	if own := member(m, name); own != nil {
		return own
	}
	return member(r.resolve(m), name)
}

func is(m *yaml.Node, name string) bool {
	value := member(m, name)
	return value != nil && value.Value == "true"
}

func text(m *yaml.Node, path ...string) string {
	for _, name := range path {
		m = member(m, name)
	}
	if m == nil {
		return ""
	}
	return m.Value
}

// isObject reports whether a schema has members of its own.
func isObject(schema *yaml.Node) bool {
	return member(schema, "properties") != nil || member(schema, "oneOf") != nil
}
