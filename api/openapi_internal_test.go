package api

import (
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"almanac/api/answer"
	"almanac/api/resource"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/preview"
)

// LoadOpenAPI returns the description of the API, and checks that it is valid.
func LoadOpenAPI(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(OpenAPI())
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	return doc
}

// A methodPath is a method and a path without the names of its parameters.
type methodPath struct{ method, path string }

func TestOpenAPIDescribesEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	served := map[methodPath]endpoint{}
	for _, e := range (&server{}).table() {
		for base := range e.below.bases() {
			r := methodPath{e.method, regexp.MustCompile(`[:*][^/]+`).ReplaceAllString(base+e.path, "{}")}
			require.NotContains(t, served, r, "it is in the table twice")
			served[r] = e
		}
	}
	doc := LoadOpenAPI(t)
	described := map[methodPath]bool{}
	for path, item := range doc.Paths.Map() {
		servers := doc.Servers
		if item.Servers != nil {
			servers = item.Servers
		}
		for _, s := range servers {
			for method, op := range item.Operations() {
				whole := strings.TrimPrefix(s.URL, ".") + path
				r := methodPath{method, regexp.MustCompile(`{[^}]+}`).ReplaceAllString(whole, "{}")}
				described[r] = true
				require.Contains(t, served, r)
				requireTaken(t, served[r], op)
			}
		}
	}
	require.Len(t, described, len(served), "what is served is described")
}

// requireTaken requires that an operation has the words of a row of the table, and that a request may have what the row
// says.
func requireTaken(t *testing.T, e endpoint, op *openapi3.Operation) {
	t.Helper()
	require.Equal(t, e.summary, op.Summary)
	require.Equal(t, e.takes.Body, op.RequestBody != nil, "%s: a body", e.summary)
	var query []string
	for _, p := range op.Parameters {
		if p.Value.In == "query" && p.Value.Name != "api-version" {
			query = append(query, p.Value.Name)
		}
	}
	require.ElementsMatch(t, e.takes.Query, query, e.summary)
	for _, name := range []string{"If-Match", "If-None-Match"} {
		require.Equal(t, e.takes.Conditional, op.Parameters.GetByInAndName("header", name) != nil, "%s: %s", e.summary, name)
	}
}

// Swagger UI, the page at /docs, does not resolve references in a path's parameters: it shows them without
// names, and sends "{jobName}" literally.
func TestParametersStandAtOperationsWhereTheDocumentationPageReadsThem(t *testing.T) {
	t.Parallel()
	doc := LoadOpenAPI(t)
	for path, item := range doc.Paths.Map() {
		require.Empty(t, item.Parameters, path)
		for method, op := range item.Operations() {
			for _, name := range regexp.MustCompile(`{([^}]+)}`).FindAllStringSubmatch(path, -1) {
				require.NotNil(t, op.Parameters.GetByInAndName("path", name[1]), "%s %s", method, path)
			}
		}
	}
}

func TestOpenAPIDescribesEveryMemberAndNoOther(t *testing.T) {
	t.Parallel()
	doc := LoadOpenAPI(t)
	for schema, wire := range map[string]any{
		"JobCollectionDefinition": resource.Collection{},
		"JobCollectionListResult": list[resource.Collection]{},
		"CalendarDefinition":      resource.Calendar{},
		"CalendarListResult":      list[resource.Calendar]{},
		"CalendarUser":            resource.CalendarUser{},
		"CalendarUsageListResult": list[resource.CalendarUser]{},
		"JobDefinition":           resource.Job{},
		"JobListResult":           list[resource.Job]{},
		"Unread":                  resource.Unread{},
		"JobHistoryDefinition":    resource.History{},
		"JobHistoryListResult":    list[resource.History]{},
		"UpcomingDefinition":      resource.Upcoming{},
		"JobSummary":              resource.Summary{},
		"BulkPreview":             resource.BulkPreview{},
		"BulkResult":              resource.BulkResult{},
		"JobChangePreview":        resource.Diff{},
		"Forecast":                resource.Forecast{},
		"OperationStatus":         resource.Operation{},
		"Execution":               resource.Execution{},
		"JobStatus":               job.Status{},
		"RerunResult":             resource.Rerun{},
		"RerunListResult":         list[resource.Rerun]{},
		"NotificationDeliveries":  list[resource.Delivery]{},
		"Error":                   answer.Envelope{},
		"Index":                   indexBody{},
		"Health":                  healthBody{},
	} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			requireMembers(t, schema, doc.Components.Schemas[schema].Value, reflect.TypeOf(wire))
		})
	}
}

// The JSON of the preview is written and parsed by hand, so its fields are compared.
func TestOpenAPIDescribesThePreview(t *testing.T) {
	t.Parallel()
	doc := LoadOpenAPI(t)
	fields := func(v any, renamed map[string]string) []string {
		var names []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name := strings.ToLower(f.Name)
			if to, ok := renamed[name]; ok {
				name = to
			}
			names = append(names, name)
		}
		return names
	}
	require.ElementsMatch(t, fields(preview.Preview{}, map[string]string{"definition": "properties"}),
		propertyNames(doc.Components.Schemas["RecurrencePreview"].Value))
	require.ElementsMatch(t, fields(preview.Result{}, nil),
		append(propertyNames(doc.Components.Schemas["RecurrencePreviewResult"].Value), "error"), "an error has a body of its own")
}

func TestOpenAPIListsTheOutcomes(t *testing.T) {
	t.Parallel()
	schemas := LoadOpenAPI(t).Components.Schemas
	for _, tt := range []struct {
		schema, member string
		has            func(job.Outcome) bool
	}{
		{"JobHistoryDefinitionProperties", "status", func(o job.Outcome) bool { return !o.Never() }},
		{"JobStatus", "lastOutcome.status", job.Outcome.Ran},
	} {
		value := schemas[tt.schema].Value
		for name := range strings.SplitSeq(tt.member, ".") {
			value = value.Properties[name].Value
		}
		var listed []job.Outcome
		for _, name := range value.Enum {
			listed = append(listed, job.Outcome(name.(string)))
		}
		require.Equal(t, job.OutcomesThat(tt.has), listed, tt.schema)
	}
}

// [job.Definition.Redacted] decides which members are secret.
func TestOpenAPIKnowsWhatIsSecret(t *testing.T) {
	t.Parallel()
	action := job.Action{
		Content: kind.Content{Request: &kind.Request{Authentication: new(filled[kind.Authentication]())},
			QueueMessage:           new(filled[kind.QueueMessage]()),
			ServiceBusQueueMessage: &kind.ServiceBusMessage{Authentication: new(filled[kind.ServiceBusAuth]())}},
	}
	all := job.Definition{Action: action}
	shown := memberNames(t, all.Redacted())
	isSecret := func(name string) bool { return !slices.Contains(shown, name) }

	doc := LoadOpenAPI(t)
	members := memberNames(t, all)
	require.True(t, slices.ContainsFunc(members, isSecret))
	for name, schema := range doc.Components.Schemas {
		for member, p := range schema.Value.Properties {
			if slices.Contains(members, member) {
				require.Equal(t, isSecret(member), p.Value.WriteOnly, "whether %s.%s is for writing only", name, member)
			}
		}
	}
}

// filled returns a struct whose strings and booleans are not empty.
func filled[T any]() T {
	var v T
	for _, f := range reflect.ValueOf(&v).Elem().Fields() {
		switch {
		case !f.CanSet(): // a blank field only names ignored members
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		default:
			f.SetString("x")
		}
	}
	return v
}

// memberNames returns the names of all members of a value's JSON.
func memberNames(t *testing.T, v any) []string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var names []string
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	return names
}

func TestExamplesOfSchemasMeetThem(t *testing.T) {
	t.Parallel()
	checked := 0
	for name, schema := range LoadOpenAPI(t).Components.Schemas {
		for path, s := range withProperties(name, schema.Value) {
			for _, example := range s.Examples {
				require.NoError(t, s.VisitJSON(example, openapi3.EnableJSONSchema2020()), "%s: %v", path, example)
				checked++
			}
		}
	}
	require.Positive(t, checked)
}

// withProperties returns a schema and the schemas of its properties, by path.
func withProperties(path string, schema *openapi3.Schema) map[string]*openapi3.Schema {
	all := map[string]*openapi3.Schema{path: schema}
	for name, p := range schema.Properties {
		all[path+"."+name] = p.Value
	}
	return all
}

// passedOver are members that the API accepts, as Azure Scheduler did, but neither stores nor returns.
var passedOver = []string{"maxJobOccurrence", "certificateExpirationDate"}

// elsewhere are members of a struct with several schemas that belong to another of these schemas.
var elsewhere = map[string][]string{
	"serviceBusQueueMessage": {"topicPath"},
	"serviceBusTopicMessage": {"queueName"},
	"errorAction":            {"errorAction"},
}

// requireMembers requires that a schema, at path, has the members of the JSON of a struct, recursively for
// members that are objects.
func requireMembers(t *testing.T, path string, schema *openapi3.Schema, wire reflect.Type) {
	t.Helper()
	member := path[strings.LastIndexByte(path, '.')+1:]
	var names []string
	for name, field := range wireMembers(wire) {
		if slices.Contains(elsewhere[member], name) || field.Tag.Get("field") == "stored" { // no part of the wire form
			continue
		}
		names = append(names, name)
		described := properties(schema)[name]
		require.NotNil(t, described, "%s.%s is not described", path, name)
		at := path + "." + name
		require.NotEmpty(t, described.Value.Description, "%s has no description", at)
		requireTags(t, at, described.Value, field.Tag.Get("field"))
		switch inner := elem(field.Type); {
		case inner.Kind() != reflect.Struct || inner == reflect.TypeFor[job.Time]() || inner == reflect.TypeFor[job.Member]():
		case described.Value.Items != nil:
			requireMembers(t, at, described.Value.Items.Value, inner)
		default:
			requireMembers(t, at, described.Value, inner)
		}
	}
	described := slices.DeleteFunc(propertyNames(schema), func(name string) bool { return slices.Contains(passedOver, name) })
	require.ElementsMatch(t, names, described, "the members of %s", path)
}

// requireTags requires that a schema states the words and the bounds in a field's tag, which decide what is
// accepted.
func requireTags(t *testing.T, at string, schema *openapi3.Schema, tag string) {
	t.Helper()
	if strings.HasPrefix(tag, "variant,") {
		return // each alternative states its own word
	}
	var words []string
	var least, most []float64
	for s := range leaves(schema) {
		for _, word := range s.Enum {
			words = append(words, word.(string))
		}
		if s.Min != nil {
			least = append(least, *s.Min)
		}
		if s.Max != nil {
			most = append(most, *s.Max)
		}
	}
	for option := range strings.SplitSeq(tag, ",") {
		name, value, _ := strings.Cut(option, "=")
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "enum":
			require.Subset(t, words, strings.Split(value, "|"), at)
			require.Subset(t, strings.Split(value, "|"), words, at)
		case "min":
			require.NotEmpty(t, least, "%s has no minimum", at)
			require.InDelta(t, number, slices.Min(least), 0, at)
		case "max":
			require.NotEmpty(t, most, "%s has no maximum", at)
			require.InDelta(t, number, slices.Max(most), 0, at)
		}
	}
}

// leaves returns a schema, the schemas of its elements, and its alternatives.
func leaves(schema *openapi3.Schema) iter.Seq[*openapi3.Schema] {
	return func(yield func(*openapi3.Schema) bool) {
		inner := slices.Concat(schema.OneOf, schema.AnyOf, schema.AllOf)
		if schema.Items != nil {
			inner = append(inner, schema.Items)
		}
		if !yield(schema) {
			return
		}
		for _, s := range inner {
			for leaf := range leaves(s.Value) {
				if !yield(leaf) {
					return
				}
			}
		}
	}
}

// wireMembers returns a struct's fields by JSON name.
func wireMembers(t reflect.Type) map[string]reflect.StructField {
	members := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			members[name] = f
		}
	}
	return members
}

// elem returns the element type of a pointer or list.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// properties returns the properties of a schema. For a schema with alternatives it returns those of all of
// them, later ones first.
func properties(schema *openapi3.Schema) openapi3.Schemas {
	all := openapi3.Schemas{}
	for _, s := range slices.Concat(schema.OneOf, schema.AnyOf, schema.AllOf) {
		maps.Copy(all, s.Value.Properties)
	}
	maps.Copy(all, schema.Properties)
	return all
}

func propertyNames(schema *openapi3.Schema) []string {
	return slices.Collect(maps.Keys(properties(schema)))
}
