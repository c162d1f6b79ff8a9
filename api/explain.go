package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/explain"
)

// Explanations say why jobs of a [Scheduler] ran late, or not at all.
type Explanations interface {
	// Explain says it of the occurrence that was due at a time, and of one to come whether it will run. It returns the
	// job's key with the names as they were first written.
	Explain(ctx context.Context, k job.Key, q explain.Question) (a explain.Answer, found job.Key, err error)
}

func (s *server) explainJob(c *gin.Context, k job.Key) error {
	q, err := question(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	a, k, err := s.scheduler.Explain(c.Request.Context(), k, q)
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, s.shown(c).Explanation(k, &a))
}

// question returns the time that a query asks about; zero if it names none.
func question(raw string) (q explain.Question, err error) {
	values, err := odata.ParseQuery(raw)
	if err != nil || len(values["at"]) == 0 {
		return q, err
	}
	text := values["at"][0]
	at, err := odata.ParseTime(text)
	if err != nil || len(values["at"]) > 1 {
		return q, badQuery("at", fields.Invalid, text, "one value, "+odata.AllowedTimes+", or without an offset in the job's time zone")
	}
	q.Text = text
	// Local time is another instant in another zone.
	if elsewhere, err := iso8601.ParseTime(text, time.FixedZone("", 3600)); err != nil || elsewhere.Equal(at) {
		q.At = at
	}
	return q, nil
}
