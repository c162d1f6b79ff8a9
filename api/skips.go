package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/odata"
	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
)

func (s *server) skipOccurrences(c *gin.Context, k job.Key) error {
	return s.changeSkips(c, k, s.scheduler.SkipOccurrences)
}

func (s *server) unskipOccurrences(c *gin.Context, k job.Key) error {
	return s.changeSkips(c, k, s.scheduler.UnskipOccurrences)
}

// changeSkips skips the occurrences that a query names, or skips them no more.
func (s *server) changeSkips(
	c *gin.Context, k job.Key, change func(context.Context, job.Key, job.SkipRequest) (job.Job, error),
) error {
	r, err := s.skipRequest(c)
	if err != nil {
		return err
	}
	j, err := change(c.Request.Context(), k, r)
	return s.replyJob(c, http.StatusOK, j, err)
}

// skipRequest returns which occurrences a query names.
func (s *server) skipRequest(c *gin.Context) (r job.SkipRequest, err error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return r, err
	}
	if err := exclusive(values, "due", "next", "until"); err != nil {
		return r, err
	}
	if r.Due, err = timeIn(values, "due"); err != nil {
		return r, err
	}
	if r.Next, err = numberIn(values, "next", 1, job.MaxSkips); err != nil {
		return r, err
	}
	if r.From, err = timeIn(values, "from"); err != nil {
		return r, err
	}
	if r.Until, err = timeIn(values, "until"); err != nil {
		return r, err
	}
	now := s.Now()
	switch {
	case r.From.IsZero() && r.Until.IsZero():
		return r, nil
	case r.Until.IsZero():
		return r, badQuery("until", fields.Required, nil, "the end of the time that begins at from")
	case r.From.IsZero():
		r.From = now
	}
	if !r.Until.After(r.From) || !r.Until.After(now) {
		return r, badQuery("until", fields.OutOfRange, iso8601.NewTime(r.Until), "after from, and a time to come")
	}
	return r, nil
}

// exclusive returns an error if a query has more than one of the parameters.
func exclusive(values url.Values, names ...string) error {
	found := ""
	for _, name := range names {
		if !values.Has(job.NormalizeName(name)) {
			continue
		}
		if found != "" {
			return badQuery(name, fields.Invalid, values.Get(name), "no "+name+" beside "+found)
		}
		found = name
	}
	return nil
}

// timeIn returns a time of a query; zero if there is none.
func timeIn(values url.Values, name string) (time.Time, error) {
	given := values[job.NormalizeName(name)]
	if len(given) == 0 {
		return time.Time{}, nil
	}
	at, err := odata.ParseTime(given[0])
	if err != nil || len(given) > 1 {
		return at, badQuery(name, fields.Invalid, given[0], "one value, "+odata.AllowedTimes)
	}
	return at, nil
}

// durationIn returns a duration of a query, such as PT10S; 0 if there is none.
func durationIn(values url.Values, name string) (time.Duration, error) {
	given := values[name]
	if len(given) == 0 {
		return 0, nil
	}
	d, err := iso8601.ParseDuration(given[0])
	if err != nil || len(given) > 1 {
		return 0, badQuery(name, fields.Invalid, given[0], "one value, a duration such as PT10S")
	}
	return d, nil
}

// numberIn returns a number of a query; 0 if there is none.
func numberIn(values url.Values, name string, least, most int) (int, error) {
	given := values[job.NormalizeName(name)]
	if len(given) == 0 {
		return 0, nil
	}
	n, err := strconv.Atoi(given[0])
	if err != nil || len(given) > 1 || n < least || n > most {
		return 0, badQuery(name, fields.OutOfRange, given[0], fmt.Sprintf("one value, %d to %d", least, most))
	}
	return n, nil
}
