package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JobFileSchema returns the JSON schema of a job in a file, job/jobfile/schema.json, for an OpenAPI description: the
// schemas of a job, with references where the API takes a secret.
func JobFileSchema(openapi []byte) ([]byte, error) {
	var whole struct {
		Components struct {
			Schemas map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(openapi, &whole); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI description: %w", err)
	}
	s := jobFile{schemas: whole.Components.Schemas, definitions: map[string]any{}}
	properties, ok := s.definition("JobProperties").(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the OpenAPI description has no JobProperties")
	}
	s.definition("Name")
	s.definitions["Secret"] = secret
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s.file(properties))
	return text.Bytes(), err
}

// secret is the schema of a secret in a file.
var secret = map[string]any{
	"description": "A secret that no answer has: a reference to where it is. A secret that is written out needs --allow-literal-secrets.",
	"anyOf": []any{
		refersTo("$env", "The name of a variable of the environment.", map[string]any{"type": "string", "minLength": 1}),
		refersTo("$file", "The path of a file, below the directory of the job files or --secrets-dir.", map[string]any{"type": "string", "minLength": 1}),
		refersTo("$exec", "A program and its arguments, whose output is the secret. It needs --allow-exec.", map[string]any{
			"anyOf": []any{
				map[string]any{"type": "string", "minLength": 1},
				map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string"}},
			},
		}),
		map[string]any{"type": "string"},
	},
}

func refersTo(kind, description string, value map[string]any) map[string]any {
	value["description"] = description
	return map[string]any{
		"type": "object", "required": []any{kind}, "additionalProperties": false, "properties": map[string]any{kind: value},
	}
}

// A jobFile collects the definitions of the schema of a job in a file.
type jobFile struct {
	schemas     map[string]any
	definitions map[string]any
}

// file returns the schema: the members of a job stand beside its name, or within properties.
func (s *jobFile) file(properties map[string]any) map[string]any {
	members := map[string]any{
		"$schema":    map[string]any{"description": "The JSON schema of the file, for editors.", "type": "string"},
		"name":       map[string]any{"description": "The name of the job. The default is that of the file, without its ending.", "type": "string", "minLength": 1},
		"collection": map[string]any{"description": "The job collection. The default is the directory, or the only collection of almanac.yaml.", "$ref": "#/$defs/Name"},
		"properties": map[string]any{"$ref": "#/$defs/JobProperties"},
		"id":         map[string]any{"description": "The id in an answer. Ignored.", "type": "string"},
		"type":       map[string]any{"description": "The type in an answer. Ignored.", "type": "string"},
	}
	var inside []any
	own, _ := properties["properties"].(map[string]any)
	for name := range own {
		members[name] = map[string]any{"$ref": "#/$defs/JobProperties/properties/" + name}
		inside = append(inside, map[string]any{"required": []any{name}})
	}
	slices.SortFunc(inside, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	job := map[string]any{
		"type": "object", "properties": members, "additionalProperties": false,
		"if":   map[string]any{"required": []any{"properties"}},
		"then": map[string]any{"not": map[string]any{"anyOf": inside}},
		"else": map[string]any{"required": []any{"action"}},
	}
	s.definitions["Job"] = job
	return map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Jobs of Almanac",
		"description": "A job in a file, or a list of jobs. docs/job-files.md has the details.",
		"anyOf":       []any{map[string]any{"$ref": "#/$defs/Job"}, map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/Job"}}},
		"$defs":       s.definitions,
	}
}

// definition adds a schema of the API to the definitions, with those that it refers to.
func (s *jobFile) definition(name string) any {
	if found, ok := s.definitions[name]; ok {
		return found
	}
	s.definitions[name] = nil // of schemas that refer to each other
	s.definitions[name] = s.converted(s.schemas[name])
	return s.definitions[name]
}

const components = "#/components/schemas/"

// converted returns a part of a schema of the API as JSON Schema has it.
func (s *jobFile) converted(part any) any {
	switch v := part.(type) {
	case map[string]any:
		return s.object(v)
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = s.converted(item)
		}
		return all
	}
	return part
}

func (s *jobFile) object(v map[string]any) map[string]any {
	if v["writeOnly"] == true && v["deprecated"] == nil {
		return map[string]any{"description": v["description"], "writeOnly": true, "$ref": "#/$defs/Secret"}
	}
	o := map[string]any{}
	for name, value := range v {
		ref, _ := value.(string)
		switch target, is := strings.CutPrefix(ref, components); {
		case name == "discriminator", name == "x-unit":
		case name == "$ref" && is:
			s.definition(target)
			o[name] = "#/$defs/" + target
		default:
			o[name] = s.converted(value)
		}
	}
	return o
}
