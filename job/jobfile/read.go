package jobfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"almanac/internal/fields"
)

const (
	maxDepth = 32
	// maxNodes is how many values a document has at most, those that aliases stand for included.
	maxNodes = 100_000
	// maxBytes is how long the texts of a document are at most, those that aliases stand for included.
	maxBytes = 16 << 20
)

// The members of a job in a file beside those of its properties.
var (
	envelope = []string{"name", "collection", "properties", "$schema"}
	ignored  = []string{"id", "type"} // of an answer
)

// IsJobFile reports whether a file may have jobs, by its name.
func IsJobFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name)))
}

// Read returns the jobs of a file: of JSON if its name ends so, and else of YAML. A job without a name has that of the
// file if it is its only one. The error joins a [*Problem] for each thing that is wrong.
func Read(file string, text []byte) ([]Job, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	documents := readYAML
	if strings.EqualFold(path.Ext(file), ".json") {
		documents = readJSON
	}
	found, err := documents(file, text)
	if err != nil {
		return nil, err
	}
	r := reader{file: file}
	for _, d := range found {
		items := []*yaml.Node{d}
		if d.Kind == yaml.SequenceNode {
			items = d.Content
		}
		for _, item := range items {
			r.job(item)
		}
	}
	for i := range r.jobs {
		if j := &r.jobs[i]; !j.named && len(r.jobs) == 1 {
			j.Name = stem(file)
		} else if !j.named {
			r.fail(j.node, "a job of a file with several needs a name")
		}
	}
	return r.jobs, errors.Join(r.problems...)
}

// readYAML returns the documents of a text that are not empty.
func readYAML(file string, text []byte) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var all []*yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, yamlProblem(file, err)
		}
		if document.Kind != yaml.DocumentNode || len(document.Content) != 1 || isNull(document.Content[0]) {
			continue
		}
		namesAsWritten(document.Content[0])
		n, err := resolved(file, document.Content[0], 0, &budget{maxNodes, maxBytes})
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?:did not find|.*)`)

func yamlProblem(file string, err error) error {
	message := err.Error()
	at := Place{File: file}
	if m := yamlLine.FindStringSubmatch(message); m != nil && m[1] != "" {
		at.Line, _ = strconv.Atoi(m[1])
		at.Column = 1
		message = strings.TrimPrefix(message, "yaml: line "+m[1]+": ")
	}
	return &Problem{at, "the text is not valid YAML: " + strings.TrimPrefix(message, "yaml: ")}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// namesAsWritten has the names of jobs and of job collections be texts, such as 007.
func namesAsWritten(n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			namesAsWritten(item)
		}
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		isName := fields.SameName(key, "name") || fields.SameName(key, "collection")
		if isName && value.Kind == yaml.ScalarNode && !isNull(value) {
			copied := *value
			copied.Tag = "!!str"
			n.Content[i+1] = &copied
		}
	}
}

// A budget is how many values and bytes of texts a document may have still.
type budget struct{ nodes, bytes int }

// resolved returns a value with what its aliases and merge keys stand for, and with scalars as JSON has them.
func resolved(file string, n *yaml.Node, depth int, left *budget) (*yaml.Node, error) {
	fail := func(message string) (*yaml.Node, error) {
		return nil, &Problem{Place{file, n.Line, n.Column}, message}
	}
	if left.nodes--; left.nodes < 0 {
		return fail(fmt.Sprintf("more than %d values in a document", maxNodes))
	}
	if left.bytes -= len(n.Value); left.bytes < 0 {
		return fail(fmt.Sprintf("more than %d bytes of texts in a document, with those that aliases stand for", maxBytes))
	}
	if depth > maxDepth {
		return fail(fmt.Sprintf("more than %d levels", maxDepth))
	}
	copied := *n
	copied.Content, copied.Anchor = nil, ""
	switch n.Kind {
	case yaml.AliasNode:
		return resolved(file, n.Alias, depth+1, left)
	case yaml.ScalarNode:
		return scalar(file, &copied)
	case yaml.MappingNode:
		return merged(file, n, &copied, depth, left)
	}
	for _, inner := range n.Content {
		item, err := resolved(file, inner, depth+1, left)
		if err != nil {
			return nil, err
		}
		copied.Content = append(copied.Content, item)
	}
	return &copied, nil
}

// merged is resolved for an object.
func merged(file string, n, to *yaml.Node, depth int, left *budget) (*yaml.Node, error) {
	var inherited []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		inner, err := resolved(file, value, depth+1, left)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() == "!!merge" {
			inherited = append(inherited, inner)
			continue
		}
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		left.bytes -= len(key.Value)
		if key.Kind != yaml.ScalarNode {
			return nil, &Problem{Place{file, key.Line, key.Column}, "the name of a member is a text"}
		}
		name := *key
		name.Anchor, name.Tag = "", "!!str"
		to.Content = append(to.Content, &name, inner)
	}
	have := map[string]bool{} // as they are compared
	for i := 0; len(inherited) > 0 && i < len(to.Content); i += 2 {
		have[fields.Normalize(to.Content[i].Value)] = true
	}
	for _, from := range inherited {
		objects := []*yaml.Node{from}
		if from.Kind == yaml.SequenceNode {
			objects = from.Content
		}
		for _, o := range objects {
			if o.Kind != yaml.MappingNode {
				return nil, &Problem{Place{file, o.Line, o.Column}, "<< takes an object, or a list of objects"}
			}
			for i := 0; i+1 < len(o.Content); i += 2 {
				if name := fields.Normalize(o.Content[i].Value); !have[name] {
					have[name] = true
					to.Content = append(to.Content, o.Content[i], o.Content[i+1])
				}
			}
		}
	}
	return to, nil
}

// scalar gives a scalar a value that JSON has.
func scalar(file string, n *yaml.Node) (*yaml.Node, error) {
	bad := func(allowed string) (*yaml.Node, error) {
		return nil, &Problem{Place{file, n.Line, n.Column}, allowed}
	}
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		n.Tag = "!!str"
	case "!!null":
		n.Tag, n.Value = tag, "null"
	case "!!bool":
		var value bool
		if err := n.Decode(&value); err != nil {
			return bad("a boolean is true or false")
		}
		n.Tag, n.Value = tag, strconv.FormatBool(value)
	case "!!int":
		var value int64
		if err := n.Decode(&value); err != nil {
			return bad("the number is too large")
		}
		n.Tag, n.Value = tag, strconv.FormatInt(value, 10)
	case "!!float":
		if !number.MatchString(n.Value) {
			return bad("a number is such as 10 or 1.5; a text that looks like a number stands in quotes")
		}
		n.Tag = tag
	default:
		return bad("the tag " + fields.Shorten(tag) + " is not allowed")
	}
	return n, nil
}

// number matches the numbers of JSON.
var number = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

// A reader makes jobs of documents.
type reader struct {
	file     string
	jobs     []Job
	problems []error
}

func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, &Problem{Place{r.file, n.Line, n.Column}, fmt.Sprintf(format, args...)})
}

// job reads a job.
func (r *reader) job(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "a job is an object with a name and an action")
		return
	}
	j := Job{File: r.file, node: n}
	beside := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		same := func(name string) bool { return fields.SameName(name, key.Value) }
		switch {
		case slices.ContainsFunc(ignored, same):
		case !slices.ContainsFunc(envelope, same):
			beside.Content = append(beside.Content, key, value)
		case same("properties"):
			j.Properties = value
		case same("name"):
			j.named = r.text(value, "the name of a job", &j.Name)
		case same("collection"):
			r.text(value, "the name of a job collection", &j.Collection)
		}
	}
	r.unique(n, "")
	if collection, name, both := strings.Cut(j.Name, "/"); both { // as the API answers it
		if j.Collection != "" && !fields.SameName(j.Collection, collection) {
			r.fail(n, "job %s is not in job collection %s: leave out collection, or the part of the name before the slash",
				fields.Shorten(j.Name), fields.Shorten(j.Collection))
		}
		j.Collection, j.Name = collection, name
	}
	switch {
	case j.Properties == nil:
		j.Properties = beside
	case len(beside.Content) > 0:
		r.fail(beside.Content[0], "%s stands inside properties, or properties is left out", fields.Shorten(beside.Content[0].Value))
	case j.Properties.Kind != yaml.MappingNode:
		r.fail(j.Properties, "properties is an object")
		return
	}
	j.Properties = r.checked(j.Properties, "properties")
	r.jobs = append(r.jobs, j)
}

func (r *reader) text(n *yaml.Node, what string, to *string) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.Value == "" {
		r.fail(n, "%s is a text", what)
		return false
	}
	*to = n.Value
	return true
}

// unique reports names that an object, at a path, has twice.
func (r *reader) unique(n *yaml.Node, path string) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := fields.Normalize(n.Content[i].Value)
		if strings.HasSuffix(fields.Normalize(path), ".custommessageproperties") {
			name = n.Content[i].Value
		}
		if seen[name] {
			r.fail(n.Content[i], "%s is there twice", fields.Shorten(n.Content[i].Value))
		}
		seen[name] = true
	}
}

// checked returns a value at a path without what only answers have, and reports references that are wrong or in a wrong
// place.
func (r *reader) checked(n *yaml.Node, at string) *yaml.Node {
	of := contracts()
	copied := *n
	copied.Content = nil
	switch n.Kind {
	case yaml.MappingNode:
		r.unique(n, at)
		ref, is := referenceIn(n)
		switch {
		case is && of.secret(at):
			if complaint := ref.complaint(); complaint != "" {
				r.fail(n, "%s", complaint)
			}
			return n
		case is && ref.complaint() == "" && !mapsTexts(at):
			r.fail(n, "a reference is for secrets only, and %s is none: it is answered to everyone who may read the job", at)
			return n
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			path := fields.MemberPath(at, n.Content[i].Value)
			if of.answered(path) {
				continue
			}
			copied.Content = append(copied.Content, n.Content[i], r.checked(n.Content[i+1], path))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			copied.Content = append(copied.Content, r.checked(item, fields.ItemPath(at, i)))
		}
	}
	return &copied
}

// mapsTexts reports whether the member at a path has names that users choose.
func mapsTexts(at string) bool {
	at = fields.Normalize(at)
	return strings.HasSuffix(at, ".headers") || strings.HasSuffix(at, ".custommessageproperties")
}
