package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"almanac/api"
)

// A probe returns a request with a number n, a text of n characters, or an object with n members.
type probe func(n int) (method, target, body string)

// probes are the requests for every bounded place in openapi.yaml. A place is the name of a parameter, or a
// schema and the path in it.
var probes = map[string]probe{
	"next":   posted(jobPath+"/skip?next=", strconv.Itoa),
	"note":   posted(jobPath+"/disable?note=", text),
	"atOnce": posted(jobPath+"/enable?atOnce=", strconv.Itoa),

	"BulkQuestion note":   inBulk(`"note":"#"`, text),
	"BulkQuestion atOnce": inBulk(`"atOnce":#`, strconv.Itoa),

	"$top": inTarget(jobsPath+"?$top=", strconv.Itoa, ""),
	"others": func(n int) (string, string, string) {
		return http.MethodPost, jobPath + "/previewChange?others=" + strconv.Itoa(n), changedJob
	},
	"take": func(n int) (string, string, string) {
		return http.MethodPost, jobPath + "/previewChange?take=" + strconv.Itoa(n), changedJob
	},
	"search":            inTarget("/summaries?search=", text, ""),
	"$skip":             inTarget(jobsPath+"?$skip=", strconv.Itoa, ""),
	"jobCollectionName": inTarget("/jobCollections/", text, "/jobs/j1"),
	"calendarName":      inTarget("/jobCollections/c1/calendars/", text, ""),
	"jobName":           inTarget("/jobCollections/c1/jobs/", text, "/history"),
	"subscriptionId":    inTarget("/subscriptions/", text, "/providers/Microsoft.Scheduler/jobCollections"+version),

	"JobCollectionDefinition properties.quota.maxJobCount":            inCollection(`"maxJobCount":#`),
	"JobCollectionDefinition properties.quota.maxRecurrence.interval": inCollection(`"maxRecurrence":{"frequency":"minute","interval":#}`),

	"JobDefinition properties.action.retryPolicy.retryCount":           inAction("Http", `"retryPolicy":{"retryCount":#}`, strconv.Itoa),
	"JobDefinition properties.action.request.uri":                      inAction("Http", `"request":{"uri":"#"}`, uri),
	"JobDefinition properties.action.request.headers":                  inAction("Http", `"request":{"headers":{#}}`, headers),
	"JobDefinition properties.action.request.body":                     inAction("Http", `"request":{"body":"#"}`, text),
	"JobDefinition properties.action.request.authentication.password":  inAuthentication("ClientCertificate", "password"),
	"JobDefinition properties.action.request.authentication.tenant":    inAuthentication("ActiveDirectoryOAuth", "tenant"),
	"JobDefinition properties.action.request.authentication.audience":  inAuthentication("ActiveDirectoryOAuth", "audience"),
	"JobDefinition properties.action.request.authentication.clientId":  inAuthentication("ActiveDirectoryOAuth", "clientId"),
	"JobDefinition properties.action.queueMessage.storageAccount":      inAction("StorageQueue", `"queueMessage":{"storageAccount":"#"}`, text),
	"JobDefinition properties.action.queueMessage.queueName":           inAction("StorageQueue", `"queueMessage":{"queueName":"#"}`, text),
	"JobDefinition properties.action.queueMessage.message":             inAction("StorageQueue", `"queueMessage":{"message":"#"}`, text),
	"JobDefinition properties.action.serviceBusQueueMessage.queueName": inAction("ServiceBusQueue", `"serviceBusQueueMessage":{"queueName":"#"}`, text),
	"JobDefinition properties.action.serviceBusQueueMessage.namespace": inAction("ServiceBusQueue", `"serviceBusQueueMessage":{"namespace":"#"}`, text),
	"JobDefinition properties.action.serviceBusQueueMessage.message":   inAction("ServiceBusQueue", `"serviceBusQueueMessage":{"message":"#"}`, text),
	"JobDefinition properties.action.serviceBusTopicMessage.topicPath": inAction("ServiceBusTopic", `"serviceBusTopicMessage":{"topicPath":"#"}`, text),
	"JobDefinition properties.action.serviceBusTopicMessage.namespace": inAction("ServiceBusTopic", `"serviceBusTopicMessage":{"namespace":"#"}`, text),
	"JobDefinition properties.action.serviceBusTopicMessage.message":   inAction("ServiceBusTopic", `"serviceBusTopicMessage":{"message":"#"}`, text),

	"JobDefinition properties.disableAfter": func(n int) (string, string, string) {
		return http.MethodPut, jobPath, fmt.Sprintf(`{"properties":{"disableAfter":%d}}`, n)
	},
	"RecurrenceText text": func(n int) (string, string, string) {
		return http.MethodPost, "/readRecurrence", `{"text":"` + strings.Repeat(" ", max(n-9, 0)) + `every day"}`
	},
	"RecurrenceText calendars": func(n int) (string, string, string) {
		return http.MethodPost, "/readRecurrence", `{"text":"every day","calendars":[` + strings.TrimSuffix(strings.Repeat(`"SE",`, n), ",") + `]}`
	},
	"RecurrencePreview calendars": func(n int) (string, string, string) {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"c%d":{"weekendDays":[]}`, i))
		}
		return http.MethodPost, "/previewRecurrence", `{"calendars":{` + strings.Join(all, ",") + `}}`
	},
	"RecurrencePreview take": func(n int) (string, string, string) {
		return http.MethodPost, "/previewRecurrence", fmt.Sprintf(`{"take":%d}`, n)
	},
}

// The action and the recurrence of a preview have the same bounds as those of a job.
func init() {
	for place, put := range maps.Clone(probes) {
		if member, ok := strings.CutPrefix(place, "JobDefinition properties.action."); ok {
			probes["RecurrencePreview properties.action."+member] = func(n int) (string, string, string) {
				_, _, body := put(n)
				return http.MethodPost, "/previewRecurrence", body
			}
		}
	}
	for member, members := range map[string]string{
		"count":                   `"frequency":"minute","count":#`,
		"interval":                `"frequency":"minute","interval":#`,
		"schedule.minutes[0]":     `"frequency":"day","schedule":{"minutes":[#]}`,
		"schedule.hours[0]":       `"frequency":"day","schedule":{"hours":[#]}`,
		"schedule.monthDays[0]":   `"frequency":"month","schedule":{"monthDays":[#]}`,
		"schedule.months[0]":      `"frequency":"year","schedule":{"months":[#]}`,
		"schedule.workingDays[0]": `"frequency":"month","schedule":{"workingDays":[#]}`,
		"schedule.monthlyOccurrences[0].occurrence": `"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":#}]}`,
	} {
		if strings.HasPrefix(member, "schedule.") { // the walk meets the one schema of schedules in further rules first
			member, members = "also[0]."+member, `"frequency":"day","also":[{`+members+`}]`
		}
		probes["JobDefinition properties.recurrence."+member] = inRecurrence(http.MethodPut, jobPath, members)
		probes["RecurrencePreview properties.recurrence."+member] = inRecurrence(http.MethodPost, "/previewRecurrence", members)
	}
	for member, members := range map[string]func(n int) string{
		"also":                   func(n int) string { return `"also":` + repeated(n, `{"frequency":"day"}`) },
		"exclusions":             func(n int) string { return `"exclusions":` + repeated(n, `"2026-12-24"`) },
		"calendars":              func(n int) string { return `"calendars":` + repeated(n, `{"name":"SE"}`) },
		"also[0].interval":       func(n int) string { return `"also":[{"frequency":"day","interval":` + strconv.Itoa(n) + `}]` },
		"exclusions[0].interval": func(n int) string { return `"exclusions":[{"frequency":"day","interval":` + strconv.Itoa(n) + `}]` },
	} {
		body := func(n int) string { return `{"properties":{"recurrence":{"frequency":"day",` + members(n) + `}}}` }
		probes["JobDefinition properties.recurrence."+member] = func(n int) (string, string, string) {
			return http.MethodPut, jobPath, body(n)
		}
		probes["RecurrencePreview properties.recurrence."+member] = func(n int) (string, string, string) {
			return http.MethodPost, "/previewRecurrence", body(n)
		}
	}
}

// So have its blackouts.
func init() {
	const when = `"onMatch":"skip","weekDays":["monday"],"timeZone":"UTC"`
	for member, list := range map[string]func(n int) string{
		"":         func(n int) string { return repeated(n, `{"name":"b",`+when+`}`) },
		"[0].name": func(n int) string { return `[{"name":"` + text(n) + `",` + when + `}]` },
	} {
		probes["RecurrencePreview properties.blackouts"+member] = func(n int) (string, string, string) {
			return http.MethodPost, "/previewRecurrence", `{"properties":{"blackouts":` + list(n) + `}}`
		}
		for schema, path := range map[string]string{"JobDefinition": jobPath, "JobCollectionDefinition": "/jobCollections/c1"} {
			probes[schema+" properties.blackouts"+member] = func(n int) (string, string, string) {
				return http.MethodPut, path, `{"properties":{"blackouts":` + list(n) + `}}`
			}
		}
	}
}

// The notifications of a job have the same bounds as those of a collection.
func init() {
	const mail = `"target":{"type":"Email","email":{"to":"a@example.com"}}`
	for member, list := range map[string]func(n int) string{
		"":          func(n int) string { return repeated(n, `{"on":"missed",`+mail+`}`) },
		"[0].name":  func(n int) string { return `[{"on":"missed",` + mail + `,"name":"` + text(n) + `"}]` },
		"[0].after": func(n int) string { return `[{"on":"failed",` + mail + `,"after":` + strconv.Itoa(n) + `}]` },
		"[0].on":    func(n int) string { return `[{` + mail + `,"on":` + repeated(n, `"missed"`) + `}]` },
		"[0].target.email.to": func(n int) string {
			return `[{"on":"missed","target":{"type":"Email","email":{"to":` + repeated(n, `"a@example.com"`) + `}}}]`
		},
	} {
		for schema, path := range map[string]string{"JobDefinition": jobPath, "JobCollectionDefinition": "/jobCollections/c1"} {
			probes[schema+" properties.notifications"+member] = func(n int) (string, string, string) {
				return http.MethodPut, path, `{"properties":{"notifications":` + list(n) + `}}`
			}
		}
	}
}

// repeated returns a list of n equal values in JSON.
func repeated(n int, value string) string {
	return "[" + strings.Join(slices.Repeat([]string{value}, n), ",") + "]"
}

func text(n int) string { return strings.Repeat("a", n) }

func uri(n int) string {
	const host = "http://example.com/"
	return host + strings.Repeat("a", n-len(host))
}

func headers(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"x-%d":""`, i)
	}
	return strings.Join(all, ",")
}

func inTarget(before string, written func(int) string, after string) probe {
	return func(n int) (string, string, string) { return http.MethodGet, before + written(n) + after, "" }
}

func posted(before string, written func(int) string) probe {
	return func(n int) (string, string, string) { return http.MethodPost, before + written(n), "" }
}

func inBulk(members string, written func(int) string) probe {
	return func(n int) (string, string, string) {
		return http.MethodPost, "/jobCollections/c1/bulkPreview", `{"action":"disable","names":["a"],` + strings.ReplaceAll(members, "#", written(n)) + `}`
	}
}

// The following bodies lack required members. That causes errors, but none for the bounded member.

func inCollection(quota string) probe {
	return func(n int) (string, string, string) {
		return http.MethodPut, "/jobCollections/c1", `{"properties":{"sku":{"name":"P20Premium"},"quota":{` + strings.ReplaceAll(quota, "#", strconv.Itoa(n)) + `}}}`
	}
}

func inRecurrence(method, target, members string) probe {
	return func(n int) (string, string, string) {
		return method, target, `{"properties":{"recurrence":{` + strings.ReplaceAll(members, "#", strconv.Itoa(n)) + `}}}`
	}
}

func inAction(kind, members string, written func(int) string) probe {
	return func(n int) (string, string, string) {
		return http.MethodPut, jobPath, `{"properties":{"action":{"type":"` + kind + `",` + strings.ReplaceAll(members, "#", written(n)) + `}}}`
	}
}

func inAuthentication(kind, member string) probe {
	return inAction("Http", `"request":{"authentication":{"type":"`+kind+`","`+member+`":"#"}}`, text)
}

func TestEveryBoundOfARequestIsTheOneThatOpenAPIStates(t *testing.T) {
	t.Parallel()
	bounds := requestBounds(t, loadContract(t))
	maps.DeleteFunc(bounds, func(place string, _ map[string]int) bool { // as in an action, whose bounds are probed
		return strings.Contains(place, ".notifications[0].target.") && !strings.HasSuffix(place, ".email.to")
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(bounds)), slices.Collect(maps.Keys(probes)), "the places with bounds, and those that are probed")
	h := api.New((&backend{}).scheduler(t), api.Options{})
	for place, stated := range bounds {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			for keyword, bound := range stated {
				beyond := bound + 1
				if strings.HasPrefix(keyword, "min") {
					beyond = bound - 1
				}
				require.Empty(t, complaint(t, h, place, bound), "%s: %d", keyword, bound)
				require.NotEmpty(t, complaint(t, h, place, beyond), "%s: %d", keyword, bound)
			}
		})
	}
}

// complaint returns the error for the bounded value n in an answer; "" if there is none.
func complaint(t *testing.T, h http.Handler, place string, n int) string {
	t.Helper()
	method, target, body := probes[place](n)
	got := send(h, method, target, body)
	if got.status != http.StatusBadRequest {
		return ""
	}
	var refusal struct {
		Error struct {
			Details []struct{ Target, Message string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &refusal))
	require.NotEmpty(t, refusal.Error.Details, "a request that is refused for another reason: %s", got.body)
	_, path, found := strings.Cut(place, " ")
	if !found {
		path = place
	}
	for _, d := range refusal.Error.Details {
		if d.Target == path {
			return d.Message
		}
	}
	return ""
}

// requestBounds returns the numeric bounds of all parameters and bodies, by place and keyword.
func requestBounds(t *testing.T, c contract) map[string]map[string]int {
	t.Helper()
	found := map[string]map[string]int{}
	walk := func(place string, root *openapi3.SchemaRef) {
		require.NoError(t, root.WalkSubtree(func(pointer string, schema *openapi3.SchemaRef) error {
			if schema.Value.ReadOnly {
				return openapi3.SkipSubtree
			}
			if bounds := boundsOf(t, schema.Value); len(bounds) > 0 {
				// Error actions are parsed like actions.
				found[strings.TrimSpace(place+" "+strings.Replace(jsonPath(pointer), ".errorAction", "", 1))] = bounds
			}
			return nil
		}))
	}
	require.NoError(t, c.WalkParameters(func(_ string, p *openapi3.ParameterRef) error {
		walk(p.Value.Name, p.Value.Schema)
		return nil
	}))
	for _, item := range c.Paths.Map() {
		for _, op := range item.Operations() {
			if op.RequestBody != nil {
				schema := op.RequestBody.Value.Content["application/json"].Schema
				walk(strings.TrimPrefix(schema.Ref, "#/components/schemas/"), schema)
			}
		}
	}
	return found
}

var boundKeyword = regexp.MustCompile(`^(min|max|exclusive|multiple)`)

// boundsOf returns the numeric bounds of one schema, by keyword.
func boundsOf(t *testing.T, schema *openapi3.Schema) map[string]int {
	t.Helper()
	encoded, err := json.Marshal(schema)
	require.NoError(t, err)
	var keywords map[string]any
	require.NoError(t, json.Unmarshal(encoded, &keywords))
	bounds := map[string]int{}
	for keyword, value := range keywords {
		if boundKeyword.MatchString(keyword) {
			require.Regexp(t, `^m(in|ax)(imum|Length|Items|Properties)$`, keyword, "a bound that no probe is for")
			bounds[keyword] = int(value.(float64))
		}
	}
	return bounds
}

// jsonPath returns the path, in the form of errors, of the JSON value described by the schema at a JSON
// pointer.
func jsonPath(pointer string) string {
	var path strings.Builder
	segments := strings.Split(pointer, "/")
	for i := 1; i < len(segments); i++ {
		switch segments[i] {
		case "properties":
			i++
			path.WriteString("." + segments[i])
		case "oneOf", "anyOf", "allOf":
			i++
		case "items":
			path.WriteString("[0]")
		default:
			path.WriteString("." + segments[i])
		}
	}
	return strings.TrimPrefix(path.String(), ".")
}
