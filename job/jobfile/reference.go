package jobfile

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"almanac/internal/fields"
)

// The kinds of reference.
const (
	EnvReference  = "$env"  // a variable of the environment
	FileReference = "$file" // a file, without the line break at its end
	ExecReference = "$exec" // what a program prints, without the line break at its end
)

// A Reference says where a secret is.
type Reference struct {
	Kind string
	Args []string // the name of the variable, the path of the file, or the program and its arguments

	Path string // of the member, such as properties.action.request.authentication.password
	At   Place
}

// Env returns a reference to a variable of the environment.
func Env(name string) Reference { return Reference{Kind: EnvReference, Args: []string{name}} }

// String returns the reference as a file has it.
func (r Reference) String() string {
	return fmt.Sprintf("{%s: %s}", r.Kind, strings.Join(r.Args, " "))
}

// mark begins the text of a reference. No secret has it, since the API takes no control characters.
const mark = "\x00almanac-reference:"

// Text returns a text that stands for the reference in the properties that [New] gets: there a secret is a string.
func (r Reference) Text() string {
	args, _ := json.Marshal(r.Args) // texts always have a JSON form
	return mark + r.Kind + " " + string(args)
}

// marked returns the reference that a text stands for.
func marked(s string) (r Reference, ok bool) {
	rest, ok := strings.CutPrefix(s, mark)
	if !ok {
		return r, false
	}
	kind, args, _ := strings.Cut(rest, " ")
	r.Kind = kind
	return r, json.Unmarshal([]byte(args), &r.Args) == nil
}

// node returns the reference as a file has it.
func (r Reference) node() *yaml.Node {
	value := text(strings.Join(r.Args, ""))
	if r.Kind == ExecReference {
		value = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, arg := range r.Args {
			value.Content = append(value.Content, text(arg))
		}
	}
	return &yaml.Node{
		Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{text(r.Kind), value},
	}
}

// referenceIn returns the reference that an object is: it has one member, which begins with a dollar sign. The error of
// a bad one is for [reader].
func referenceIn(n *yaml.Node) (r Reference, is bool) {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || !strings.HasPrefix(n.Content[0].Value, "$") {
		return r, false
	}
	r.Kind = n.Content[0].Value
	value := n.Content[1]
	switch {
	case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!str":
		r.Args = []string{value.Value}
	case value.Kind == yaml.SequenceNode && r.Kind == ExecReference:
		for _, arg := range value.Content {
			r.Args = append(r.Args, arg.Value)
		}
	}
	return r, true
}

// complaint returns what is wrong with a reference; "" if nothing is.
func (r Reference) complaint() string {
	switch r.Kind {
	case EnvReference, FileReference, ExecReference:
	default:
		return fmt.Sprintf("%s is no kind of reference; allowed: $env, $file or $exec", fields.Shorten(r.Kind))
	}
	if len(r.Args) == 0 || r.Args[0] == "" {
		return r.Kind + " names nothing; allowed: " + map[string]string{
			EnvReference: "{$env: NAME}", FileReference: "{$file: path}", ExecReference: "{$exec: [program, argument]}",
		}[r.Kind]
	}
	return ""
}

// References returns the references of the job, in their order.
func (j Job) References() (all []Reference) {
	j.eachSecret(func(r Reference) { all = append(all, r) }, func(string, Place) {})
	return all
}

// A Literal is a secret that is in the file itself.
type Literal struct {
	Path string
	At   Place
}

// Literals returns the secrets that are in the file itself.
func (j Job) Literals() (all []Literal) {
	j.eachSecret(func(Reference) {}, func(path string, at Place) { all = append(all, Literal{path, at}) })
	return all
}

// eachSecret calls one of both for each secret.
func (j Job) eachSecret(reference func(Reference), literal func(path string, at Place)) {
	of := contracts()
	var visit func(n *yaml.Node, path string)
	visit = func(n *yaml.Node, path string) {
		place := Place{j.File, n.Line, n.Column}
		if of.secret(path) {
			if r, is := referenceIn(n); is {
				r.Path, r.At = path, place
				reference(r)
			} else if n.Kind == yaml.ScalarNode && n.Value != "" {
				literal(path, place)
			}
			return
		}
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				visit(n.Content[i+1], fields.MemberPath(path, n.Content[i].Value))
			}
		case yaml.SequenceNode:
			for i, item := range n.Content {
				visit(item, fields.ItemPath(path, i))
			}
		}
	}
	if j.Properties != nil {
		visit(j.Properties, "properties")
	}
}
