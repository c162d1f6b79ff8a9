package azure

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
)

// resources reads the resources of a template, or those inside one: a list, or an object with symbolic names.
func (s *scope) resources(all *value.Value, kind string, name *value.Value, depth int) {
	if all == nil {
		return
	}
	items := slices.Clone(all.Items)
	for _, m := range all.Members {
		items = append(items, m.Value)
	}
	for _, r := range items {
		if r.Kind != value.Object || r.Get("existing").Is("true") {
			continue
		}
		loop := r.Get("copy")
		if loop == nil {
			s.resource(r, kind, name, depth)
			continue
		}
		n, ok := s.eval(loop.Get("count")).Whole()
		if !ok || n > maxCopies {
			s.c.result.Problem(s.c.file.Name, loop.Line, fmt.Sprintf("the number of copies of a resource is not known, or more than %d", maxCopies))
			continue
		}
		loopName, _ := loop.Get("name").Str()
		for i := range n {
			if s.c.exhausted() {
				return
			}
			s.copied(loopName, i).resource(r, kind, name, depth)
		}
	}
}

const (
	collectionType = "microsoft.scheduler/jobcollections"
	jobType        = "microsoft.scheduler/jobcollections/jobs"
	deploymentType = "microsoft.resources/deployments"
)

// resource reads a resource. kind and name are those of the one around it.
func (s *scope) resource(r *value.Value, kind string, name *value.Value, depth int) {
	own, _ := s.eval(r.Get("type")).Str()
	own, _, _ = strings.Cut(strings.ToLower(own), "@") // with symbolic names the version may be in the type
	full := own
	if kind != "" && !strings.Contains(own, ".") {
		full = kind + "/" + own
	}
	fullName := s.eval(r.Get("name"))
	if name != nil && fullName != nil && !strings.Contains(fullName.Text, "/") {
		fullName = strict(concat)(s, []*value.Value{name, value.Text("/", 0), fullName})
		fullName.Line = r.Get("name").LineOr(r.Line)
	}
	condition := s.eval(r.Get("condition"))
	if condition != nil && condition.Kind == value.Unknown {
		inner := *s
		inner.conditions = append(slices.Clone(s.conditions), condition)
		s = &inner
	}
	if condition.Is("false") {
		if strings.HasPrefix(full, "microsoft.scheduler") {
			s.c.result.Note(s.c.file.Name, r.Line, "a resource is left out, since its condition is false")
		}
		return
	}
	switch full {
	case deploymentType:
		s.deployment(r, depth)
		return
	case collectionType:
		s.c.collection(s.group, text(fullName), s.eval(r.Get("location")), s.eval(r.Get("tags")), s.eval(r.Get("properties")), r.Line)
	case jobType:
		properties := s.eval(r.Get("properties"))
		s.c.made += properties.Size()
		d := s.c.job(fullName, properties, r.Line, origin{exists: s.exported, group: s.group})
		for _, c := range s.conditions {
			d.Need(c.LineOr(r.Line), "whether it is created depends on "+strings.Join(c.Why, "; "))
		}
	}
	s.resources(r.Get("resources"), full, fullName, depth)
}

func text(v *value.Value) string {
	t, _ := v.Str()
	return t
}

// deployment reads the template of a nested or linked deployment.
func (s *scope) deployment(r *value.Value, depth int) {
	if depth >= maxNested {
		s.c.result.Problem(s.c.file.Name, r.Line, fmt.Sprintf("deployments are nested more than %d deep", maxNested))
		return
	}
	if group := r.Get("resourceGroup"); group != nil {
		inner := *s
		inner.group = text(s.eval(group))
		s = &inner
	}
	p := r.Get("properties")
	given := map[string]*value.Value{}
	for _, m := range object(s.eval(p.Get("parameters"))).Members {
		given[strings.ToLower(m.Name)] = parameterValue(m.Name, m.Value)
	}
	if link := p.Get("parametersLink"); link != nil {
		s.c.linked(s.link(link), "parameters", func(doc *value.Value, _ source.File) {
			maps.Copy(given, parametersOf(doc))
		})
	}
	if inner := p.Get("template"); inner != nil {
		if s.eval(p.Get("expressionEvaluationOptions").Get("scope")).Is("inner") {
			s.c.template(inner, given, s.exported, depth+1, s)
			return
		}
		// Its expressions are those of the template around it.
		s.resources(inner.Get("resources"), "", nil, depth+1)
		return
	}
	if link := p.Get("templateLink"); link != nil {
		s.c.linked(s.link(link), "template", func(doc *value.Value, file source.File) {
			outer := s.c.file
			s.c.file = file
			s.c.template(doc, given, s.exported, depth+1, s)
			s.c.file = outer
		})
	}
}

// link evaluates a link. If its address is not known, the last literal path in it counts, such as that of
// uri(parameters('base'), 'nested/a.json').
func (s *scope) link(link *value.Value) *value.Value {
	v := s.eval(link)
	raw, ok := link.Get("uri").Str()
	if v.Get("uri") == nil || v.Get("uri").Kind != value.Unknown || !ok || len(raw) < 2 {
		return v
	}
	e, err := parseExpression(raw[1 : len(raw)-1])
	if err != nil || e.kind != 'f' || !strings.EqualFold(e.text, "uri") && !strings.EqualFold(e.text, "concat") {
		return v
	}
	for _, a := range slices.Backward(e.args) {
		if name, _, _ := strings.Cut(a.text, "?"); a.kind == 's' && strings.Trim(name, "/") != "" {
			v.Set("relativePath", value.Text(strings.TrimPrefix(name, "/"), link.Line))
			break
		}
	}
	return v
}

// parameterValue returns the value that a file of parameters gives.
func parameterValue(name string, v *value.Value) *value.Value {
	switch {
	case v == nil:
	case v.Get("reference") != nil:
		return value.Needed(v.Line, "parameters('"+name+"'), whose value is a secret in a key vault")
	case v.Kind == value.Object && v.Get("value") != nil:
		return v.Get("value")
	case v.Kind == value.Unknown:
		return v
	}
	return value.Needed(v.LineOr(0), "parameters('"+name+"'), which has no value")
}

// parametersOf returns the values of a file of parameters.
func parametersOf(doc *value.Value) map[string]*value.Value {
	given := map[string]*value.Value{}
	for _, m := range object(doc.Get("parameters")).Members {
		given[strings.ToLower(m.Name)] = parameterValue(m.Name, m.Value)
	}
	return given
}

// suffixes returns the ends of a path that are paths, the longest first.
func suffixes(name string) []string {
	all := []string{name}
	for range 20 {
		_, rest, found := strings.Cut(name, "/")
		if !found {
			break
		}
		all, name = append(all, rest), rest
	}
	return all
}

// linked reads a linked file, if it is beside the source.
func (c *collector) linked(link *value.Value, what string, read func(doc *value.Value, file source.File)) {
	name, ok := link.Get("relativePath").Str()
	if !ok {
		address, isText := link.Get("uri").Str()
		if isText {
			if u, err := url.Parse(address); err == nil {
				name, ok = strings.Trim(u.Path, "/"), true
			}
		}
	}
	if !ok || name == "" || name == "." || name == "/" {
		c.result.Problem(c.file.Name, link.Line, "needs a file: a linked "+what+", whose name is known only when the template is deployed")
		return
	}
	for _, candidate := range suffixes(name) {
		file, err := c.file.Beside(candidate)
		if err != nil || file.Path == c.file.Path {
			continue
		}
		if c.links++; c.links > maxCopies {
			c.result.Problem(c.file.Name, link.Line, "there are too many linked files")
			return
		}
		text, err := file.Read()
		if err != nil {
			continue
		}
		docs, err := value.ReadAll(text)
		if err != nil {
			c.result.Problem(file.Name, 0, "it is not JSON: "+err.Error())
			return
		}
		for _, doc := range docs {
			read(doc, file)
		}
		return
	}
	c.result.Problem(c.file.Name, link.Line, "needs a file: the linked "+what+" "+path.Base(name)+" is not beside the source, and import opens no connection")
}
