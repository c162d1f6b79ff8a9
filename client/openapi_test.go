package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/client"
)

func description(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	require.NoError(t, err)
	return doc
}

// types has the type of each schema that is an object.
var types = map[string]any{
	"JobCollectionDefinition": client.Collection{}, "JobCollectionProperties": client.CollectionProperties{}, "Sku": client.SKU{},
	"JobCollectionQuota": client.Quota{}, "JobMaxRecurrence": client.MaxRecurrence{},
	"Notification": client.Notification{}, "NotificationTarget": client.NotificationTarget{},
	"JobDefinition": client.Job{}, "JobProperties": client.JobProperties{}, "JobStatus": client.JobStatus{}, "Retry": client.Retry{},
	"Lateness": client.Lateness{}, "LatenessProperties": client.LatenessProperties{}, "LatenessPercentiles": client.LatenessPercentiles{},
	"Percentiles": client.Percentiles{}, "LatenessBar": client.LatenessBar{}, "LateExecution": client.LateExecution{}, "UnreadJob": client.UnreadJob{},
	"Explanation": client.Explanation{}, "ExplanationProperties": client.ExplanationProperties{}, "Split": client.Split{}, "Fact": client.Fact{},
	"Execution": client.Execution{}, "ExecutionProperties": client.ExecutionProperties{},
	"JobAction": client.Action{}, "JobErrorAction": client.Action{}, "HttpRequest": client.Request{}, "HttpAuthentication": client.Authentication{},
	"StorageQueueMessage": client.QueueMessage{}, "ServiceBusQueueMessage": client.ServiceBusMessage{}, "ServiceBusTopicMessage": client.ServiceBusMessage{},
	"ServiceBusAuthentication": client.ServiceBusAuthentication{}, "ServiceBusBrokeredMessageProperties": client.BrokeredMessageProperties{},
	"RetryPolicy": client.RetryPolicy{}, "JobRecurrence": client.Recurrence{}, "JobRecurrenceSchedule": client.Schedule{},
	"JobRecurrenceScheduleMonthlyOccurrence": client.MonthlyOccurrence{},
	"JobRecurrenceRule":                      client.Rule{}, "JobRecurrenceExclusion": client.Exclusion{}, "JobRecurrenceCalendar": client.CalendarUse{},
	"JobHistoryDefinition": client.History{}, "JobHistoryDefinitionProperties": client.HistoryProperties{},
	"Change": client.Change{}, "ChangeProperties": client.ChangeProperties{}, "Difference": client.Difference{},
	"LastDay": client.Day{},
	"Held":    client.Held{}, "HeldOfCollection": client.HeldOfCollection{}, "HeldJob": client.HeldJob{}, "Disabled": client.Disabled{},
	"Backfill": client.Backfill{}, "BackfillPreview": client.BackfillPreview{},
	"JobTrial": client.Trial{}, "WorkerList": client.Workers{}, "Worker": client.Worker{}, "TimeSpan": client.TimeSpan{}, "JobSummary": client.Summary{}, "JobDigest": client.Digest{}, "Owner": client.Owner{}, "BulkQuestion": client.BulkQuestion{}, "BulkPreview": client.BulkPreview{}, "BulkJob": client.BulkJob{}, "BulkResult": client.BulkResult{}, "JobChangePreview": client.ChangePreview{}, "JobChangeRun": client.ChangeRun{}, "Forecast": client.Forecast{}, "ForecastStep": client.ForecastStep{}, "ForecastSecond": client.ForecastSecond{},
	"ForecastFullest": client.ForecastFullest{}, "ForecastCount": client.ForecastCount{}, "RerunResult": client.Rerun{}, "UpcomingDefinition": client.Upcoming{}, "OperationStatus": client.Operation{},
	"RecurrencePreview": client.Preview{}, "RecurrencePreviewResult": client.PreviewResult{}, "RecurrenceAdjustment": client.Adjustment{},
	"CalendarDefinition": client.Calendar{}, "CalendarUser": client.CalendarUser{}, "CalendarUserProperties": client.CalendarUserProperties{}, "CalendarProperties": client.CalendarProperties{}, "CalendarDay": client.CalendarDay{}, "CalendarStatus": client.CalendarStatus{}, "CalendarReason": client.CalendarReason{}, "Blackout": client.Blackout{}, "BlackoutReason": client.BlackoutReason{}, "CalendarPeriod": client.CalendarPeriod{},
	"RecurrenceText": client.RecurrenceText{}, "RecurrenceReadings": client.RecurrenceReadings{}, "RecurrenceReading": client.RecurrenceReading{},
	"Subscription": client.Subscription{}, "ResourceGroup": client.ResourceGroup{}, "ResourceGroupProperties": client.ResourceGroupProperties{},
	"ErrorBody": client.ErrorBody{}, "ErrorDetail": client.ErrorDetail{}, "Index": client.Index{}, "Health": client.Health{},
}

// others are schemas without a type of their own, with the reason.
var others = map[string]string{
	"Name": "a text", "StringMap": "a map", "Time": "a time", "Duration": "a text", "NextLink": "a text", "JobActionType": "a text", "DayOfWeek": "a text",
	"JobCollectionPatch": "any value", "JobPatch": "any value", "Unread": "UnreadError", "Error": "Error has its body",
	"BasicAuthentication": "HttpAuthentication", "ClientCertAuthentication": "HttpAuthentication", "OAuthAuthentication": "HttpAuthentication",
	"NoAuthentication": "HttpAuthentication", "NotificationDeliveries": "a list of Delivery",
	"JobCollectionListResult": "Page", "CalendarListResult": "Page", "CalendarUsageListResult": "Page", "SubscriptionListResult": "Page", "ResourceGroupListResult": "Page", "JobListResult": "Page", "JobHistoryListResult": "Page", "HistoryAcrossListResult": "Page",
	"ChangeListResult": "Page", "RerunListResult": "Page", "UpcomingListResult": "Page", "JobSummaryListResult": "Summaries", "BulkListResult": "Page", "OwnerBinding": "Owner", "JobPruning": "a text", "SecretsComparison": "a boolean", "JobDigestListResult": "Page", "BulkSelection": "a text", "BackfillList": "a list of Backfill",
}

// absent are members that a type leaves out, with the reason.
var absent = map[string]string{
	"JobCollectionQuota.maxJobOccurrence":          "without effect",
	"HttpAuthentication.certificateExpirationDate": "another name of certificateExpiration",
	"Lateness.nextLink":                            "a text or null; the methods follow it",
	"JobErrorAction.errorAction":                   "", // of the other schema of the same type
	"ServiceBusQueueMessage.topicPath":             "", "ServiceBusTopicMessage.queueName": "",
}

func TestEveryTypeHasTheMembersOfItsSchema(t *testing.T) {
	t.Parallel()
	schemas := description(t).Components.Schemas
	for name, schema := range schemas {
		if others[name] != "" {
			continue
		}
		require.Contains(t, types, name, "the schema has no type in package client")
		compareType(t, name, schema, reflect.TypeOf(types[name]))
	}
	deliveries := schemas["NotificationDeliveries"].Value.Properties["value"].Value.Items
	compareType(t, "Delivery", deliveries, reflect.TypeFor[client.Delivery]())
}

// compareType requires that a type has the members of a schema, and each the type of its member.
func compareType(t *testing.T, name string, schema *openapi3.SchemaRef, of reflect.Type) {
	t.Helper()
	properties := maps.Clone(schema.Value.Properties)
	for _, one := range schema.Value.OneOf { // of the authentications: each has members of its own
		if one.Ref != "" {
			properties = merged(properties, one.Value.Properties)
		}
	}
	fields := map[string]reflect.Type{}
	for f := range of.Fields() {
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if member != "-" {
			fields[member] = f.Type
		}
	}
	for member, s := range properties {
		whole := name + "." + member
		if _, left := absent[whole]; left {
			continue
		}
		require.Contains(t, fields, member, "%s has no member %s", of, whole)
		compareValue(t, whole, s, fields[member])
	}
	for member := range fields {
		if _, left := absent[name+"."+member]; !left {
			require.Contains(t, properties, member, "the schema %s has no such member", name)
		}
	}
}

func merged(a, b openapi3.Schemas) openapi3.Schemas {
	all := openapi3.Schemas{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// compareValue requires that a type can hold what a schema allows.
func compareValue(t *testing.T, path string, s *openapi3.SchemaRef, of reflect.Type) {
	t.Helper()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok && types[name] != nil {
		require.Equal(t, reflect.TypeOf(types[name]), of, path)
		return
	}
	v := s.Value
	switch {
	case of == reflect.TypeFor[any]() || of == reflect.TypeFor[json.RawMessage]():
		require.False(t, v.Type != nil && len(*v.Type) == 1 && v.Type.Is("object"), "%s: any value", path)
	case of == reflect.TypeFor[time.Time]():
		require.True(t, strings.HasSuffix(s.Ref, "/Time") || path == "ChangeProperties.eventTimestamp", "%s is no time", path)
	case of.Kind() == reflect.Slice:
		require.True(t, v.Type.Is("array"), "%s is no list", path)
		compareValue(t, path+"[]", v.Items, of.Elem())
	case of.Kind() == reflect.Map:
		require.True(t, v.Type.Is("object") && v.AdditionalProperties.Schema != nil, "%s is no map", path)
	case of.Kind() == reflect.Struct:
		compareType(t, path, s, of)
	default:
		kind := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean", reflect.Float64: "number"}[of.Kind()]
		if v.Type == nil && kind == "string" { // a word, or one of several
			require.True(t, len(v.AnyOf) > 0 || v.Extensions["const"] != nil || v.Const != nil, path)
			return
		}
		require.True(t, v.Type.Is(kind), "%s is %v in the description, and %s in %s", path, v.Type, kind, of)
	}
}

// calls has a call of each operation.
var calls = map[string]func(context.Context, *client.Client) error{
	"JobCollections_ListByResourceGroup": func(ctx context.Context, c *client.Client) error { return drained(c.Collections(ctx, none)) },
	"JobCollections_ListBySubscription":  func(ctx context.Context, c *client.Client) error { return drained(c.AllCollections(ctx, none)) },
	"Subscriptions_List":                 func(ctx context.Context, c *client.Client) error { return drained(c.Subscriptions(ctx, none)) },
	"ResourceGroups_List":                func(ctx context.Context, c *client.Client) error { return drained(c.ResourceGroups(ctx, "s", none)) },
	"JobCollections_Get":                 func(ctx context.Context, c *client.Client) error { return second(c.Collection(ctx, "c")) },
	"JobCollections_CreateOrUpdate": func(ctx context.Context, c *client.Client) error {
		return second(c.PutCollection(ctx, "c", client.Collection{}))
	},
	"JobCollections_Patch":             func(ctx context.Context, c *client.Client) error { return second(c.PatchCollection(ctx, "c", none)) },
	"JobCollections_Delete":            func(ctx context.Context, c *client.Client) error { return second(c.DeleteCollection(ctx, "c")) },
	"JobCollections_Enable":            func(ctx context.Context, c *client.Client) error { return second(c.EnableCollection(ctx, "c")) },
	"JobCollections_Disable":           func(ctx context.Context, c *client.Client) error { return second(c.DisableCollection(ctx, "c")) },
	"JobCollections_ListNotifications": func(ctx context.Context, c *client.Client) error { return second(c.Deliveries(ctx, "c")) },
	"JobCollections_TestNotification":  func(ctx context.Context, c *client.Client) error { return second(c.TestNotifications(ctx, "c")) },
	"Jobs_TestNotification": func(ctx context.Context, c *client.Client) error {
		return second(c.TestJobNotifications(ctx, "c", "j"))
	},
	"JobCollections_GetOperation":       func(ctx context.Context, c *client.Client) error { return second(c.Operation(ctx, "c", "o")) },
	"JobCollections_GetOperationResult": func(ctx context.Context, c *client.Client) error { return second(c.OperationResult(ctx, "c", "o")) },
	"Jobs_List":                         func(ctx context.Context, c *client.Client) error { return drained(c.Jobs(ctx, "c", none)) },
	"Jobs_Create": func(ctx context.Context, c *client.Client) error {
		return second(c.CreateJob(ctx, "c", client.JobProperties{}))
	},
	"Jobs_Get": func(ctx context.Context, c *client.Client) error { return second(c.Job(ctx, "c", "j")) },
	"Jobs_CreateOrUpdate": func(ctx context.Context, c *client.Client) error {
		return second(c.PutJob(ctx, "c", "j", client.JobProperties{}))
	},
	"Jobs_Patch":  func(ctx context.Context, c *client.Client) error { return second(c.PatchJob(ctx, "c", "j", none)) },
	"Jobs_Delete": func(ctx context.Context, c *client.Client) error { return c.DeleteJob(ctx, "c", "j") },
	"Jobs_Run":    func(ctx context.Context, c *client.Client) error { return second(c.RunJob(ctx, "c", "j")) },
	"Workers_ListBySubscription": func(ctx context.Context, c *client.Client) error {
		return second(c.Workers(ctx, time.Unix(0, 0), time.Unix(1, 0)))
	},
	"JobCollections_GetBulkResults": func(ctx context.Context, c *client.Client) error {
		_, _, err := c.BulkResults(ctx, "c", "o")
		return err
	},
	"Jobs_Try": func(ctx context.Context, c *client.Client) error {
		return second(c.TryJob(ctx, "c", "j", client.JobProperties{}))
	},
	"Jobs_Skip": func(ctx context.Context, c *client.Client) error {
		return second(c.SkipOccurrences(ctx, "c", "j", client.Occurrences{Next: 2}))
	},
	"Jobs_PreviewBackfill": func(ctx context.Context, c *client.Client) error {
		return second(c.PreviewBackfill(ctx, "c", "j", client.BackfillRequest{From: time.Unix(0, 0), Until: time.Unix(9, 0)}))
	},
	"Jobs_Backfill": func(ctx context.Context, c *client.Client) error {
		return second(c.Backfill(ctx, "c", "j", client.BackfillRequest{From: time.Unix(0, 0), Until: time.Unix(9, 0), Name: "b", AtOnce: 2, Every: 10 * time.Second}))
	},
	"Jobs_ListBackfills": func(ctx context.Context, c *client.Client) error { return second(c.Backfills(ctx, "c", "j")) },
	"Jobs_ChangeBackfill": func(ctx context.Context, c *client.Client) error {
		return second(c.ChangeBackfill(ctx, "c", "j", "b", "end"))
	},
	"JobCollections_PreviewPause": func(ctx context.Context, c *client.Client) error {
		return second(c.PreviewCollectionPause(ctx, "c", "enable", client.Pause{Recover: client.RecoverLatest}))
	},
	"Jobs_PreviewPause": func(ctx context.Context, c *client.Client) error {
		return second(c.PreviewPause(ctx, "c", "j", "disable", client.Pause{Until: time.Unix(1e10, 0), Recover: client.RecoverAll, AtOnce: 3}))
	},
	"Jobs_Unskip": func(ctx context.Context, c *client.Client) error {
		return second(c.UnskipOccurrences(ctx, "c", "j", client.Occurrences{From: time.Unix(0, 0), Until: time.Unix(9, 0)}))
	},
	"Jobs_Enable":          func(ctx context.Context, c *client.Client) error { return second(c.EnableJob(ctx, "c", "j")) },
	"Jobs_Disable":         func(ctx context.Context, c *client.Client) error { return second(c.DisableJob(ctx, "c", "j")) },
	"Jobs_Rerun":           func(ctx context.Context, c *client.Client) error { return second(c.RerunJob(ctx, "c", "j", "r")) },
	"JobCollections_Rerun": func(ctx context.Context, c *client.Client) error { return drained(c.RerunJobs(ctx, "c", "r", none)) },
	"Jobs_GetExecution":    func(ctx context.Context, c *client.Client) error { return second(c.Execution(ctx, "c", "j", "1-2")) },
	"Jobs_Lateness": func(ctx context.Context, c *client.Client) error {
		return second(c.JobLateness(ctx, "c", "j", time.Time{}, time.Time{}))
	},
	"JobCollections_Lateness": func(ctx context.Context, c *client.Client) error {
		return second(c.CollectionLateness(ctx, "c", time.Unix(0, 0), time.Unix(1, 0)))
	},
	"Jobs_Explain": func(ctx context.Context, c *client.Client) error {
		return second(c.Explain(ctx, "c", "j", "2026-01-31T08:30"))
	},
	"Jobs_ListJobHistory":        func(ctx context.Context, c *client.Client) error { return drained(c.History(ctx, "c", "j", none)) },
	"Jobs_ListChanges":           func(ctx context.Context, c *client.Client) error { return drained(c.Changes(ctx, "c", "j", none)) },
	"JobCollections_ListChanges": func(ctx context.Context, c *client.Client) error { return drained(c.CollectionChanges(ctx, "c", none)) },
	"JobCollections_ListHistory": func(ctx context.Context, c *client.Client) error {
		return drained(c.HistoryAcross(ctx, client.InCollection("c"), none))
	},
	"JobCollections_ListUpcoming": func(ctx context.Context, c *client.Client) error {
		return drained(c.Upcoming(ctx, client.InCollection("c"), time.Time{}, none))
	},
	"Jobs_ListHistoryByResourceGroup": func(ctx context.Context, c *client.Client) error {
		return drained(c.HistoryAcross(ctx, client.Scope{}, none))
	},
	"Jobs_ListUpcomingByResourceGroup": func(ctx context.Context, c *client.Client) error {
		return drained(c.Upcoming(ctx, client.Scope{}, time.Unix(0, 0), none))
	},
	"Jobs_ListHistoryBySubscription": func(ctx context.Context, c *client.Client) error {
		return drained(c.HistoryAcross(ctx, client.InSubscription(), none))
	},
	"Jobs_ListUpcomingBySubscription": func(ctx context.Context, c *client.Client) error {
		return drained(c.Upcoming(ctx, client.InSubscription(), time.Time{}, none))
	},
	"JobCollections_ListSummaries": func(ctx context.Context, c *client.Client) error {
		return second(c.Summaries(ctx, client.InCollection("c"), client.Search{Words: "a", OrderBy: "name"}))
	},
	"Jobs_ListSummariesByResourceGroup": func(ctx context.Context, c *client.Client) error {
		return second(c.Summaries(ctx, client.Scope{}, client.Search{}))
	},
	"Jobs_ListSummariesBySubscription": func(ctx context.Context, c *client.Client) error {
		return second(c.Summaries(ctx, client.InSubscription(), client.Search{}))
	},
	"JobCollections_ListDigests": func(ctx context.Context, c *client.Client) error {
		return drained(c.Digests(ctx, "c"))
	},
	"JobCollections_GetForecast": func(ctx context.Context, c *client.Client) error {
		return second(c.Forecast(ctx, client.InCollection("c"), client.Window{}))
	},
	"JobCollections_PostForecast": func(ctx context.Context, c *client.Client) error {
		return second(c.ForecastBeside(ctx, client.InCollection("c"), client.Window{Host: "h", From: time.Unix(0, 0)}, client.Preview{}))
	},
	"Jobs_GetForecastByResourceGroup": func(ctx context.Context, c *client.Client) error {
		return second(c.Forecast(ctx, client.Scope{}, client.Window{}))
	},
	"Jobs_PostForecastByResourceGroup": func(ctx context.Context, c *client.Client) error {
		return second(c.ForecastBeside(ctx, client.Scope{}, client.Window{Host: "h", From: time.Unix(0, 0)}, client.Preview{}))
	},
	"Jobs_GetForecastBySubscription": func(ctx context.Context, c *client.Client) error {
		return second(c.Forecast(ctx, client.InSubscription(), client.Window{}))
	},
	"Jobs_PostForecastBySubscription": func(ctx context.Context, c *client.Client) error {
		return second(c.ForecastBeside(ctx, client.InSubscription(), client.Window{Host: "h", From: time.Unix(0, 0)}, client.Preview{}))
	},
	"Jobs_CompareSecrets": func(ctx context.Context, c *client.Client) error {
		return second(c.CompareSecrets(ctx, "c", "j", json.RawMessage("{}")))
	},
	"Jobs_Prune":   func(ctx context.Context, c *client.Client) error { return second(c.PruneJob(ctx, "c", "j", "o")) },
	"Jobs_Restore": func(ctx context.Context, c *client.Client) error { return second(c.RestoreJob(ctx, "c", "j")) },
	"JobCollections_BindOwner": func(ctx context.Context, c *client.Client) error {
		return second(c.BindOwner(ctx, "c", client.Owner{ID: "o", Collections: []string{"c"}}, true))
	},
	"Jobs_PreviewChange": func(ctx context.Context, c *client.Client) error {
		return second(c.PreviewChange(ctx, "c", "j", 5, client.JobProperties{}))
	},
	"JobCollections_BulkPreview": func(ctx context.Context, c *client.Client) error {
		return second(c.PreviewBulk(ctx, "c", client.BulkQuestion{Action: client.BulkEnable}))
	},
	"JobCollections_BulkEnable": func(ctx context.Context, c *client.Client) error {
		return drained(c.Bulk(ctx, "c", client.BulkEnable, "s"))
	},
	"JobCollections_BulkDisable": func(ctx context.Context, c *client.Client) error {
		return drained(c.Bulk(ctx, "c", client.BulkDisable, "s"))
	},
	"JobCollections_BulkRun": func(ctx context.Context, c *client.Client) error {
		return drained(c.Bulk(ctx, "c", client.BulkRun, "s"))
	},
	"JobCollections_BulkSkip": func(ctx context.Context, c *client.Client) error {
		return drained(c.Bulk(ctx, "c", client.BulkSkip, "s"))
	},
	"JobCollections_BulkRerun": func(ctx context.Context, c *client.Client) error {
		return drained(c.Bulk(ctx, "c", client.BulkRerun, "s"))
	},
	"JobCollections_BulkDelete": func(ctx context.Context, c *client.Client) error {
		return drained(c.Bulk(ctx, "c", client.BulkDelete, "s"))
	},
	"Calendars_List": func(ctx context.Context, c *client.Client) error {
		_, err := c.CalendarsOf("c").Page(ctx, client.List{})
		return errors.Join(err, drained(c.CalendarsOf("c").List(ctx, client.List{})))
	},
	"Calendars_Get": func(ctx context.Context, c *client.Client) error { return second(c.CalendarsOf("c").Get(ctx, "SE")) },
	"Calendars_CreateOrUpdate": func(ctx context.Context, c *client.Client) error {
		return second(c.CalendarsOf("c").Put(ctx, "SE", client.CalendarProperties{}))
	},
	"Calendars_ListUsage": func(ctx context.Context, c *client.Client) error {
		_, err := c.CalendarsOf("c").UsagePage(ctx, "SE", client.List{})
		return errors.Join(err, drained(c.CalendarsOf("c").Usage(ctx, "SE", client.List{})))
	},
	"SubscriptionCalendars_ListUsage": func(ctx context.Context, c *client.Client) error {
		_, err := c.CalendarsOf("").UsagePage(ctx, "SE", client.List{})
		return errors.Join(err, drained(c.CalendarsOf("").Usage(ctx, "SE", client.List{})))
	},
	"Calendars_Delete": func(ctx context.Context, c *client.Client) error {
		return c.CalendarsOf("c").Delete(ctx, "SE")
	},
	"SubscriptionCalendars_List": func(ctx context.Context, c *client.Client) error {
		_, err := c.CalendarsOf("").Page(ctx, client.List{})
		return errors.Join(err, drained(c.CalendarsOf("").List(ctx, client.List{})))
	},
	"SubscriptionCalendars_Get": func(ctx context.Context, c *client.Client) error { return second(c.CalendarsOf("").Get(ctx, "SE")) },
	"SubscriptionCalendars_CreateOrUpdate": func(ctx context.Context, c *client.Client) error {
		return second(c.CalendarsOf("").Put(ctx, "SE", client.CalendarProperties{}))
	},
	"SubscriptionCalendars_Delete": func(ctx context.Context, c *client.Client) error {
		return c.CalendarsOf("").Delete(ctx, "SE")
	},
	"Recurrence_Read": func(ctx context.Context, c *client.Client) error {
		return second(c.ReadRecurrence(ctx, client.RecurrenceText{}))
	},
	"Recurrence_Preview": func(ctx context.Context, c *client.Client) error { return second(c.Preview(ctx, client.Preview{})) },
	"JobCollections_PreviewRecurrence": func(ctx context.Context, c *client.Client) error {
		return second(c.PreviewIn(ctx, "c", client.Preview{}))
	},
	"Service_Index":     func(ctx context.Context, c *client.Client) error { return second(c.Index(ctx)) },
	"Service_Health":    func(ctx context.Context, c *client.Client) error { return second(c.Health(ctx)) },
	"Service_Readiness": func(ctx context.Context, c *client.Client) error { return second(c.Ready(ctx)) },
	"Service_Metrics":   func(ctx context.Context, c *client.Client) error { return second(c.Metrics(ctx)) },
	"Service_JobSchema": func(ctx context.Context, c *client.Client) error { return second(c.JobSchema(ctx)) },
	"Service_OpenAPI":   func(ctx context.Context, c *client.Client) error { return second(c.OpenAPI(ctx)) },
}

// pages are operations for browsers.
var pages = []string{"Service_Docs", "Service_DocsFile"}

var none client.List

func second[T any](_ T, err error) error { return err }

func drained[T any](list func(func(T, error) bool)) (last error) {
	for _, err := range list {
		last = err
	}
	return last
}

// A wire answers every request with an empty object, and keeps the last one.
type wire struct{ last *http.Request }

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.last = r
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"status":"ready"}`)), Request: r,
	}, nil
}

func TestEveryOperationHasAMethodThatCallsIt(t *testing.T) {
	t.Parallel()
	doc := description(t)
	described := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if slices.Contains(pages, op.OperationID) {
				continue
			}
			described++
			call := calls[op.OperationID]
			require.NotNil(t, call, "package client does not call %s", op.OperationID)
			for base, within := range map[string]bool{"": false, "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler": true} {
				w := new(wire)
				c, err := client.New("http://h/x/", client.Options{Transport: w})
				require.NoError(t, err)
				if within {
					c = c.In("s", "g")
				}
				require.NoError(t, call(t.Context(), c))
				require.Equal(t, method, w.last.Method, op.OperationID)
				if item.Servers != nil && op.OperationID != "Recurrence_Preview" && op.OperationID != "Recurrence_Read" {
					base = ""
				}
				require.Regexp(t, "^/x"+base+regexp.MustCompile(`{[^}]+}`).ReplaceAllString(path, "[^/]+")+"$", w.last.URL.Path)
				require.Equal(t, strings.Contains(w.last.URL.Path, "/providers/"), w.last.URL.Query().Get("api-version") != "", w.last.URL)
			}
		}
	}
	require.Len(t, calls, described)
}
