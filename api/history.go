package api

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/odata"
	"almanac/job"
	"almanac/job/listing"
)

func (s *server) listHistory(c *gin.Context, k job.Key) error {
	read := func(ctx context.Context, p listing.Page) ([]job.Record, string, error) {
		found, err := s.scheduler.Job(ctx, k)
		if err != nil {
			return nil, "", err
		}
		k = found.Key // with the names as they were first written
		return s.scheduler.History(ctx, k, p)
	}
	return replyPage(s, c, odata.HistoryFilter, read, func(r job.Record) historyResource { return newHistoryResource(k, r) })
}

// historyKey returns the name of an entry of a job's history. Names sort newest first. The first half
// counts down, in ticks of 100 ns, from .NET's DateTime.MaxValue to the start of the attempt. The second
// half distinguishes entries that start in the same tick. A name never changes.
func historyKey(r job.Record) string {
	return fmt.Sprintf("%020d:%020d", maxTicks-ticks(r.Start), math.MaxInt64-r.Ordinal())
}

// maxTicks is the last tick of the year 9999, .NET's DateTime.MaxValue.
const maxTicks = 3155378975999999999

// ticks returns t as .NET counts it: in units of 100 ns since the year 1.
func ticks(t time.Time) int64 {
	const perSecond, secondsBefore1970 = 10_000_000, 62135596800
	return (t.Unix()+secondsBefore1970)*perSecond + int64(t.Nanosecond()/100)
}
