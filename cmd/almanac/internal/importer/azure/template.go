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

const (
	maxNested  = 8    // deployments in deployments
	maxCopies  = 1000 // of a resource
	maxVisited = 40   // variables in variables
)

// A scope is a template with its parameters.
type scope struct {
	c          *collector
	parameters map[string]*value.Value // given, by names in lower case
	declared   *value.Value            // the member parameters of the template
	variables  *value.Value
	evaluated  map[string]*value.Value // parameters that are not given, and variables
	copies     map[string]int          // indexes of copy loops; "" is the innermost
	exported   bool                    // from a resource group
	group      string                  // resource group; "" if it is not known
	conditions []*value.Value          // of what is around, as far as they are not known
}

// eval returns a value with its expressions evaluated.
func (s *scope) eval(v *value.Value) *value.Value {
	if v == nil {
		return nil
	}
	if s.c.steps++; s.c.exhausted() {
		return value.Needed(v.Line, tooMuch)
	}
	switch v.Kind {
	case value.String:
		return s.text(v)
	case value.List:
		list := &value.Value{Kind: value.List, Line: v.Line}
		for _, item := range v.Items {
			list.Items = append(list.Items, s.eval(item))
		}
		return bounded(list)
	case value.Object:
		return bounded(s.object(v))
	}
	return v
}

// object evaluates the members of an object, and makes the lists of its copy loops.
func (s *scope) object(v *value.Value) *value.Value {
	o := value.Obj(v.Line)
	for _, m := range v.Members {
		if m.Name == "copy" && m.Value.Kind == value.List {
			for _, loop := range m.Value.Items {
				if name, ok := loop.Get("name").Str(); ok {
					o.Set(name, s.loop(loop, name))
				}
			}
			continue
		}
		o.Members = append(o.Members, value.Member{Name: m.Name, Value: s.eval(m.Value)})
	}
	return o
}

// loop evaluates the input of a copy loop as often as it says.
func (s *scope) loop(loop *value.Value, name string) *value.Value {
	n, ok := s.eval(loop.Get("count")).Whole()
	if !ok || n > maxCopies {
		return value.Needed(loop.Line, "the number of copies")
	}
	list := &value.Value{Kind: value.List, Line: loop.Line}
	for i := range n {
		list.Items = append(list.Items, s.copied(name, i).eval(loop.Get("input")))
	}
	return bounded(list)
}

// copied returns the scope in a copy loop.
func (s *scope) copied(name string, i int) *scope {
	inner := *s
	inner.copies = map[string]int{}
	maps.Copy(inner.copies, s.copies)
	inner.copies[""], inner.copies[strings.ToLower(name)] = i, i
	return &inner
}

// text evaluates a string.
func (s *scope) text(v *value.Value) *value.Value {
	text := v.Text
	switch {
	case strings.HasPrefix(text, "[["):
		return value.Text(text[1:], v.Line)
	case !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]"):
		return v
	}
	s.c.made += len(text)
	e, err := parseExpression(text[1 : len(text)-1])
	if err != nil {
		return value.Needed(v.Line, err.Error())
	}
	result := s.expression(e)
	if result == nil {
		return value.Needed(v.Line, "an expression of the template has no value")
	}
	c := *result
	if c.Kind != value.Object && c.Kind != value.List || c.Line == 0 {
		c.Line = v.Line
	}
	return &c
}

// expression evaluates an expression; nil if it has no value.
func (s *scope) expression(e *expression) *value.Value {
	if s.c.steps++; s.c.exhausted() {
		return value.Needed(0, tooMuch)
	}
	switch e.kind {
	case 's':
		return value.Text(e.text, 0)
	case 'n':
		return &value.Value{Kind: value.Number, Text: e.text}
	case '.':
		return s.member(s.expression(e.of), e.text)
	case '[':
		of, index := s.expression(e.of), s.expression(e.args[0])
		if n, ok := index.Whole(); ok && of != nil && of.Kind == value.List {
			if n < 0 || n >= len(of.Items) {
				return nil
			}
			return of.Items[n]
		}
		name, ok := index.Str()
		if !ok {
			return nil
		}
		return s.member(of, name)
	}
	return s.call(e)
}

// member returns a member; one of an unknown value is unknown.
func (s *scope) member(of *value.Value, name string) *value.Value {
	if of != nil {
		s.c.made += len(of.Members)
	}
	if of == nil || of.Kind == value.Unknown {
		return of
	}
	return of.Get(name)
}

// call evaluates a call of a function.
func (s *scope) call(e *expression) *value.Value {
	name := strings.ToLower(e.text)
	if name == "if" && len(e.args) == 3 { // only one of the values is evaluated
		switch condition := s.expression(e.args[0]); {
		case condition != nil && condition.Kind == value.Unknown:
			return condition
		case condition.Is("true"):
			return s.expression(e.args[1])
		}
		return s.expression(e.args[2])
	}
	var args []*value.Value
	for _, a := range e.args {
		arg := s.expression(a)
		if arg == nil {
			arg = value.Needed(0, "an expression of the template has no value")
		}
		args = append(args, arg)
	}
	if name == "parameters" || name == "variables" {
		text, ok := "", len(args) == 1
		if ok {
			text, ok = args[0].Str()
		}
		switch {
		case !ok:
			return nil
		case name == "parameters":
			return s.parameter(text)
		}
		return s.variable(text)
	}
	f, ok := functions[name]
	if !ok {
		return value.Needed(0, "the function "+e.text[:min(len(e.text), 40)]+", which is not known here")
	}
	for _, a := range args {
		s.c.made = min(s.c.made+a.Size(), maxMade+1)
	}
	if s.c.exhausted() {
		return value.Needed(0, tooMuch)
	}
	v := bounded(f(s, args))
	s.c.made += v.Size()
	return v
}

// parameter returns the value of a parameter.
func (s *scope) parameter(name string) *value.Value {
	if given, ok := s.parameters[strings.ToLower(name)]; ok {
		return given
	}
	return s.once("parameters('"+name+"')", func(s *scope) *value.Value {
		if given := s.declared.Get(name, "defaultValue"); given != nil {
			return s.eval(given)
		}
		return value.Needed(0, "parameters('"+name+"'), which has no value: give a file of parameters")
	})
}

// variable returns the value of a variable.
func (s *scope) variable(name string) *value.Value {
	return s.once("variables('"+name+"')", func(s *scope) *value.Value {
		if definition := s.variables.Get(name); definition != nil {
			return s.eval(definition)
		}
		for _, loop := range itemsOf(s.variables.Get("copy")) {
			if loop.Get("name").Is(name) {
				return s.loop(loop, name)
			}
		}
		return value.Needed(0, "variables('"+name+"'), which the template does not have")
	})
}

// once evaluates a parameter or a variable, which may refer to itself, the first time that it is asked for. Templates
// have no index of a copy loop there.
func (s *scope) once(what string, f func(s *scope) *value.Value) *value.Value {
	key := strings.ToLower(what)
	if v, ok := s.evaluated[key]; ok {
		return v
	}
	if s.c.nesting > maxVisited {
		return value.Needed(0, what+", which refers to itself")
	}
	outside := *s
	outside.copies = nil
	s.c.nesting++
	v := f(&outside)
	s.c.nesting--
	s.evaluated[key] = v
	return v
}

// template reads a template. around has the resource group and the conditions of the deployment.
func (c *collector) template(t *value.Value, given map[string]*value.Value, exported bool, depth int, around *scope) {
	s := &scope{
		c: c, group: around.group, conditions: around.conditions, parameters: given, declared: object(t.Get("parameters")), variables: object(t.Get("variables")),
		evaluated: map[string]*value.Value{}, exported: exported || generalized(t),
	}
	s.secrets()
	s.resources(t.Get("resources"), "", nil, depth)
}

// secrets adds the values of parameters that are secret.
func (s *scope) secrets() {
	for _, m := range s.declared.Members {
		if kind := m.Value.Get("type"); kind.Is("securestring") || kind.Is("secureobject") {
			s.c.secret(s.parameter(m.Name))
		}
	}
}

// secret adds the texts of a value that is secret.
func (c *collector) secret(v *value.Value) {
	v.Walk("", func(_ string, v *value.Value) bool {
		if text, ok := v.Str(); ok && v.Kind != value.Bool {
			c.result.Secret(text)
		}
		return true
	})
}

func object(v *value.Value) *value.Value {
	if v == nil || v.Kind != value.Object {
		return value.Obj(0)
	}
	return v
}

// generalized reports whether a template was exported from a resource group.
func generalized(t *value.Value) (found bool) {
	for _, m := range object(t.Get("parameters")).Members {
		if strings.HasPrefix(strings.ToLower(m.Name), "jobcollections_") {
			return true
		}
	}
	t.Get("resources").Walk("", func(_ string, v *value.Value) bool {
		if text, ok := v.Get("comments").Str(); ok && strings.HasPrefix(text, "Generalized from resource") {
			found = true
		}
		return !found
	})
	return found
}

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
