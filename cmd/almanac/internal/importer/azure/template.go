package azure

import (
	"maps"
	"strings"

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
