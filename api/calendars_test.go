package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
)

const (
	subscriptionCalendars = "/subscriptions/s/providers/Microsoft.Scheduler/calendars"
	ofSubscription        = version
)

func TestACalendarIsShownWithItsVersionAndItsETag(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	h := api.New((&backend{}).scheduler(t), api.Options{Now: func() time.Time { return now }})
	got := send(h, http.MethodGet, "/jobCollections/c/calendars/SE", "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"id":"`+defaultID+`/jobCollections/c/calendars/SE","type":"Microsoft.Scheduler/jobCollections/calendars","name":"c/SE","properties":{`+
		`"weekendDays":["saturday","sunday"],"days":[{"date":"2026-01-01","name":"Nyårsdagen"},{"date":"2026-05-01"}],`+
		`"periods":[{"first":"2026-07-01","last":"2026-07-31"}],"makeUpDays":[{"date":"2026-02-14"}],"completeUntil":"2026-12-31","version":3}}`, got.body)
	require.NotEmpty(t, got.header.Get("ETag"))

	got = send(h, http.MethodGet, subscriptionCalendars+ofSubscription, "")
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, `{"id":"/subscriptions/s/providers/Microsoft.Scheduler/calendars/SE","type":"Microsoft.Scheduler/calendars","name":"SE",`+
		`"properties":{"weekendDays":["saturday","sunday"],"completeUntil":"2026-12-31","version":3,"entries":4}}`)
	require.Contains(t, got.body, "It could not be read: it did not answer in time.")

	now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, path := range []string{"/jobCollections/c/calendars/SE", "/jobCollections/c/calendars"} {
		require.Contains(t, send(h, http.MethodGet, path, "").body, `"status":{"daysLeft":30,"reason":"The days off are known until 2026-12-31, in 30 days. `)
	}
}

func TestACalendarIsPutInTheScopeOfThePath(t *testing.T) {
	t.Parallel()
	var put job.CalendarKey
	var sent job.Calendar
	f := &fake{
		putCalendar: func(_ context.Context, k job.CalendarKey, c job.Calendar) (job.KeptCalendar, bool, error) {
			put, sent = k, c
			return job.KeptCalendar{Key: k, Calendar: c, Version: 1, Generation: 7}, true, nil
		},
		calendar: func(_ context.Context, k job.CalendarKey) (job.KeptCalendar, error) {
			return job.KeptCalendar{Key: k, Version: 3, Generation: 7}, nil
		},
	}
	h := api.New(f, api.Options{})
	got := send(h, http.MethodPut, "/jobCollections/c/calendars/SE", `{"properties":{"weekendDays":["Sunday"],"version":9}}`)
	require.Equal(t, http.StatusCreated, got.status, got.body)
	require.Equal(t, job.CollectionKey{Subscription: job.NilSubscription, ResourceGroup: "default", Name: "c"}.Calendar("SE"), put)
	require.Equal(t, []string{"sunday"}, sent.WeekendDays)
	got = send(h, http.MethodPut, subscriptionCalendars+"/SE"+ofSubscription, `{"weekendDays":[]}`)
	require.Equal(t, http.StatusCreated, got.status, got.body)
	require.Equal(t, job.SubscriptionScope("s").Calendar("SE"), put)

	long := `{"weekendDays":[]` + strings.Repeat(" ", 100_000) + `}`
	require.Equal(t, http.StatusCreated, send(h, http.MethodPut, "/jobCollections/c/calendars/SE", long).status, "64 KiB is no limit for calendars")
	tooLong := `{"weekendDays":[],"description":"` + strings.Repeat("x", 200<<10) + `"}`
	require.Equal(t, http.StatusRequestEntityTooLarge, send(h, http.MethodPut, "/jobCollections/c/calendars/SE", tooLong).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, send(h, http.MethodPut, "/jobCollections/c", long).status)

	require.Equal(t, http.StatusPreconditionFailed,
		sendIf(h, http.MethodPut, "/jobCollections/c/calendars/SE", `{"weekendDays":[]}`, "If-None-Match", "*").status)
	require.Equal(t, http.StatusPreconditionFailed,
		sendIf(h, http.MethodPut, "/jobCollections/c/calendars/SE", `{"weekendDays":[]}`, "If-Match", `"6-0"`).status)
	require.Equal(t, http.StatusCreated,
		sendIf(h, http.MethodPut, "/jobCollections/c/calendars/SE", `{"weekendDays":[]}`, "If-Match", `"7-0"`).status)
	require.Equal(t, http.StatusBadRequest, send(h, http.MethodPut, "/jobCollections/c/calendars/"+strings.Repeat("x", 81), `{"weekendDays":[]}`).status)
}

func TestACalendarIsDeleted(t *testing.T) {
	t.Parallel()
	deleted := 0
	h := api.New(&fake{deleteCalendar: func(context.Context, job.CalendarKey) error { deleted++; return nil }}, api.Options{})
	require.Equal(t, http.StatusOK, send(h, http.MethodDelete, "/jobCollections/c/calendars/SE", "").status)
	require.Equal(t, http.StatusBadRequest, send(h, http.MethodDelete, "/jobCollections/c/calendars/SE?force=true", "").status, "nothing sent is ignored")
	require.Equal(t, 1, deleted)
}

func TestCalendarsOfASubscriptionAreListedPageByPage(t *testing.T) {
	t.Parallel()
	f := &fake{calendars: func(_ context.Context, scope job.CollectionKey, p listing.Page) ([]job.KeptCalendar, string, error) {
		require.Equal(t, job.SubscriptionScope("s"), scope)
		require.Equal(t, 1, p.Top)
		return nil, "", nil
	}}
	got := send(api.New(f, api.Options{}), http.MethodGet, subscriptionCalendars+ofSubscription+"&$top=1", "")
	require.Equal(t, `{"value":[],"nextLink":null}`, got.body)
}

// sendIf sends a request with a condition.
func sendIf(h http.Handler, method, target, body, header, value string) answer {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set(header, value)
	return serve(h, r)
}
