package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// calendar returns the body of a calendar whose weekends are free, with these days off.
func calendar(days ...string) string {
	all := make([]string, len(days))
	for i, day := range days {
		all[i] = fmt.Sprintf(`{"date":%q,"name":"off %d"}`, day, i)
	}
	return `{"properties":{"weekendDays":["saturday","sunday"],"completeUntil":"2099-12-31","days":[` + strings.Join(all, ",") + `]}}`
}

func TestCalendarsAreCreatedChangedListedAndDeleted(t *testing.T) {
	t.Parallel()
	s := use(t)
	c := s.collection(t)
	subscription := fmt.Sprintf("/subscriptions/cal-%d/providers/Microsoft.Scheduler/calendars", time.Now().UnixNano())
	const version = "?api-version=2016-03-01"
	for _, at := range []string{c + "/calendars", s.url + subscription} {
		list := func() reply { return call(t, http.MethodGet, at+version, "") }
		require.Equal(t, 0, list().count("value"))
		first := call(t, http.MethodPut, at+"/SE"+version, calendar("2026-01-01"))
		require.Equal(t, http.StatusCreated, first.code, first.body)
		require.EqualValues(t, 1, first.get("properties.version"))
		same := call(t, http.MethodPut, at+"/se"+version, calendar("2026-01-01"))
		require.Equal(t, http.StatusOK, same.code, same.body)
		require.Equal(t, first.body, same.body, "it has not changed, and keeps its name")
		require.Equal(t, first.head.Get("ETag"), same.head.Get("ETag"))
		changed := call(t, http.MethodPut, at+"/SE"+version, calendar("2026-01-01", "2026-05-01"))
		require.EqualValues(t, 2, changed.get("properties.version"))
		require.NotEqual(t, first.head.Get("ETag"), changed.head.Get("ETag"))
		found := call(t, http.MethodGet, at+"/SE"+version, "")
		require.Equal(t, changed.body, found.body)
		require.Equal(t, changed.head.Get("ETag"), found.head.Get("ETag"))
		require.Equal(t, http.StatusCreated, call(t, http.MethodPut, at+"/NO"+version, calendar()).code)
		require.Equal(t, []any{"NO", "SE"}, []any{after(list().get("value.0.name")), after(list().get("value.1.name"))})
		require.EqualValues(t, 2, list().get("value.1.properties.entries"))
		require.Equal(t, http.StatusOK, call(t, http.MethodDelete, at+"/SE"+version, "").code)
		require.Equal(t, http.StatusNotFound, call(t, http.MethodDelete, at+"/SE"+version, "").code)
		require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, at+"/SE"+version, "").code)
		require.Equal(t, 1, list().count("value"))
		again := call(t, http.MethodPut, at+"/SE"+version, calendar())
		require.Equal(t, http.StatusCreated, again.code, again.body)
		require.EqualValues(t, 1, again.get("properties.version"))
		require.NotEqual(t, first.head.Get("ETag"), again.head.Get("ETag"), "it is another calendar")
	}
	missing := call(t, http.MethodPut, c+"x/calendars/SE", calendar())
	require.Equal(t, http.StatusNotFound, missing.code)
	require.Contains(t, missing.body, "jobcollections/")
}

func after(name any) string {
	text := fmt.Sprint(name)
	return text[strings.LastIndex(text, "/")+1:]
}

func TestAScopeHasAHundredCalendarsAndTheyEndWithTheirCollection(t *testing.T) {
	t.Parallel()
	s := use(t)
	c := s.collection(t)
	for i := range 100 {
		r := call(t, http.MethodPut, fmt.Sprintf("%s/calendars/n%03d", c, i), calendar())
		require.Equal(t, http.StatusCreated, r.code, r.body)
	}
	full := call(t, http.MethodPut, c+"/calendars/more", calendar())
	require.Equal(t, http.StatusConflict, full.code)
	require.Contains(t, full.body, "There are 100 calendars already")
	require.Equal(t, http.StatusOK, call(t, http.MethodPut, c+"/calendars/N007", calendar("2026-01-01")).code)
	require.Equal(t, 100, call(t, http.MethodGet, c+"/calendars", "").count("value"))
	require.Equal(t, http.StatusOK, call(t, http.MethodDelete, c+"/calendars/n007", "").code)
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, c+"/calendars/more", calendar()).code)

	r := call(t, http.MethodDelete, c, "")
	require.Contains(t, []int{http.StatusOK, http.StatusAccepted}, r.code)
	eventually(t, "the collection is gone", func() bool { return call(t, http.MethodGet, c, "").code == http.StatusNotFound })
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, c+"/calendars", "").code)
	created(t, c, `{"properties":{"sku":{"name":"Standard"}}}`)
	eventually(t, "the new collection has none of the old calendars", func() bool {
		return call(t, http.MethodGet, c+"/calendars", "").count("value") == 0
	})
}
