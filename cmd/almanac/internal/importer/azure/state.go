package azure

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"almanac/cmd/almanac/internal/importer/value"
)

// isState reports whether a document is a state of Terraform, or what terraform show -json prints.
func isState(doc *value.Value) bool {
	if doc.Get("format_version") != nil && (doc.Get("values") != nil || doc.Get("planned_values") != nil) {
		return true
	}
	_, ok := doc.Get("version").Whole()
	return ok && doc.Get("$schema") == nil && (doc.Get("terraform_version") != nil || doc.Get("serial") != nil || doc.Get("lineage") != nil)
}

const (
	terraformJob        = "azurerm_scheduler_job"
	terraformCollection = "azurerm_scheduler_job_collection"
)

// state reads a state of Terraform: of version 4, or of version 3 with its flat attributes.
func (c *collector) state(doc *value.Value) {
	found := 0
	for _, r := range itemsOf(doc.Get("resources")) {
		if r.Get("mode").Is("data") {
			continue
		}
		for _, instance := range itemsOf(r.Get("instances")) {
			attributes := instance.Get("attributes")
			if attributes == nil && instance.Get("attributes_flat") != nil {
				attributes = unflattened(instance.Get("attributes_flat"))
			}
			found += c.stateResource(text(r.Get("type")), attributes, instance.LineOr(r.Line))
		}
	}
	for _, module := range itemsOf(doc.Get("modules")) {
		for _, m := range object(module.Get("resources")).Members {
			if strings.HasPrefix(m.Name, "data.") {
				continue
			}
			found += c.stateResource(text(m.Value.Get("type")), unflattened(m.Value.Get("primary", "attributes")), m.Value.Line)
		}
	}
	for _, name := range []string{"values", "planned_values"} {
		found += c.shownModule(doc.Get(name, "root_module"), 0)
	}
	if found > 0 {
		if c.states == nil {
			c.states = map[string]bool{}
		}
		c.states[path.Dir(c.file.Name)] = true
	} else {
		c.result.Problem(c.file.Name, doc.Line, "the state has no job of Azure Scheduler")
	}
}

// shownModule reads a module as terraform show -json prints it.
func (c *collector) shownModule(module *value.Value, depth int) (found int) {
	if module == nil || depth > 20 {
		return 0
	}
	for _, r := range itemsOf(module.Get("resources")) {
		if !r.Get("mode").Is("data") {
			found += c.stateResource(text(r.Get("type")), r.Get("values"), r.Line)
		}
	}
	for _, child := range itemsOf(module.Get("child_modules")) {
		found += c.shownModule(child, depth+1)
	}
	return found
}

func (c *collector) stateResource(kind string, attributes *value.Value, line int) int {
	if attributes == nil || attributes.Kind != value.Object {
		return 0
	}
	switch kind {
	case terraformJob:
		c.terraformJob(attributes, line, false)
	case terraformCollection:
		c.terraformCollection(attributes, line)
	default:
		return 0
	}
	return 1
}

var flatName = regexp.MustCompile(`^[^.]+`)

// unflattened returns the attributes of version 3, such as recurrence.0.hours.123, as those of version 4.
func unflattened(flat *value.Value) *value.Value {
	if flat == nil || flat.Kind != value.Object {
		return nil
	}
	return unflatten(flat.Members, flat.Line, 0)
}

func unflatten(members []value.Member, line, depth int) *value.Value {
	groups := map[string][]value.Member{}
	var names []string
	counted := false
	for _, m := range members {
		first := flatName.FindString(m.Name)
		switch rest := strings.TrimPrefix(strings.TrimPrefix(m.Name, first), "."); {
		case first == "#" || first == "%":
			counted = counted || first == "#"
			continue
		case depth > 20:
			continue
		default:
			if !slices.Contains(names, first) && len(names) < 10000 {
				names = append(names, first)
			}
			groups[first] = append(groups[first], value.Member{Name: rest, Value: m.Value})
		}
	}
	whole := value.Obj(line)
	for _, name := range names {
		whole.Members = append(whole.Members, value.Member{Name: name, Value: unflattenOne(groups[name], depth)})
	}
	if !counted {
		return whole
	}
	// A list, or a set, whose members have hashes as names.
	slices.SortStableFunc(whole.Members, func(a, b value.Member) int { return number(a.Name) - number(b.Name) })
	list := &value.Value{Kind: value.List, Line: line}
	for _, m := range whole.Members {
		list.Items = append(list.Items, m.Value)
	}
	return list
}

func unflattenOne(members []value.Member, depth int) *value.Value {
	if len(members) == 1 && members[0].Name == "" {
		return members[0].Value
	}
	return unflatten(members, members[0].Value.Line, depth+1)
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
