package jobfile

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"almanac/internal/fields"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON schema of a job in a file. It is made of api/openapi.yaml.
func Schema() []byte { return slices.Clone(schema) }

// A contract is which members of a job are special, by their paths in lower case, without the indexes of lists.
type contract struct {
	secrets  map[string]bool // never answered
	readOnly map[string]bool // only answered
}

var index = regexp.MustCompile(`\[\d+\]`)

func (c contract) secret(path string) bool   { return c.secrets[plain(path)] }
func (c contract) answered(path string) bool { return c.readOnly[plain(path)] }

func plain(path string) string { return fields.Normalize(index.ReplaceAllString(path, "[]")) }

// A shape is a part of the schema.
type shape struct {
	Ref        string           `json:"$ref"`
	Properties map[string]shape `json:"properties"`
	Items      *shape           `json:"items"`
	OneOf      []shape          `json:"oneOf"`
	AnyOf      []shape          `json:"anyOf"`
	AllOf      []shape          `json:"allOf"`
	Secret     bool             `json:"writeOnly"`
	Answered   bool             `json:"readOnly"`
	Deprecated bool             `json:"deprecated"`
	Defs       map[string]shape `json:"$defs"`
}

// contracts reads the schema, once.
var contracts = sync.OnceValue(func() contract {
	var whole shape
	if err := json.Unmarshal(schema, &whole); err != nil { // it is embedded, and a test reads it
		return contract{}
	}
	c := contract{map[string]bool{}, map[string]bool{}}
	var visit func(s shape, path string)
	visit = func(s shape, path string) {
		name := fields.Normalize(path)
		if s.Secret && !s.Deprecated {
			c.secrets[name] = true
			return
		}
		if s.Answered {
			c.readOnly[name] = true
			return
		}
		if s.Ref != "" {
			visit(whole.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")], path)
		}
		for member, inner := range s.Properties {
			visit(inner, fields.MemberPath(path, member))
		}
		if s.Items != nil {
			visit(*s.Items, path+"[]")
		}
		for _, inner := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
			visit(inner, path)
		}
	}
	visit(whole.Defs["JobProperties"], "properties")
	return c
})

// IsSecret reports whether the member at a path, such as properties.action.request.authentication.password, is a secret,
// which no answer has.
func IsSecret(path string) bool { return contracts().secret(path) }
