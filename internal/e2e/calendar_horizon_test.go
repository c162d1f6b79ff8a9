package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A calendar whose days are known for few days more says so, and so does an alert of the job collection that uses it.
func TestACollectionIsWarnedOfTheHorizonOfACalendar(t *testing.T) {
	t.Parallel()
	s, alerts := use(t), newSink(t, nil)
	c := s.collection(t)
	ok(t, http.MethodPut, c, `{"location":"here","properties":{"sku":{"name":"P20Premium"},"notifications":[{"on":["horizon"],"target":`+
		`{"type":"Http","request":{"method":"POST","uri":"`+alerts.URL+`/alert"}}}]}}`)
	calendar := c + "/calendars/SE?api-version=2016-03-01"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, calendar, days()).code)
	created(t, c+"/jobs/j", byCalendar(time.Now().Add(time.Hour), "SE", "skip"))
	eventually(t, "Temporal's lists have the job", func() bool {
		return call(t, http.MethodDelete, calendar, "").code == http.StatusConflict
	})
	require.Nil(t, call(t, http.MethodGet, calendar, "").get("properties.status"))
	horizon := time.Now().UTC().AddDate(0, 0, 20).Format(time.DateOnly)
	require.Equal(t, http.StatusOK, call(t, http.MethodPut, calendar, `{"properties":{"weekendDays":[],"completeUntil":"`+horizon+`"}}`).code)
	got := alerts.await(t, "/alert", 1)
	require.Contains(t, got[0].body, "The days of calendar 'SE' of the job collection, which a job uses, are known until "+horizon)
	require.Contains(t, got[0].body, `"event":"horizon"`)
	require.Contains(t, call(t, http.MethodGet, calendar, "").body, `"reason":"The days off are known until `+horizon)
}
