package job

import (
	"bytes"
	"encoding/json"
	"time"

	"almanac/internal/fields"
	"almanac/internal/iso8601"
)

// A Time is a point in time in the form of the REST API. See [iso8601.Time].
type Time = iso8601.Time

// NewTime returns t; nil if t is zero.
func NewTime(t time.Time) *Time { return iso8601.NewTime(t) }

// A Duration is a length of time in the user's spelling. See [iso8601.Duration].
type Duration = iso8601.Duration

const day = 24 * time.Hour

// Members are the members of a JSON object with string values, in their original order. Nil stands for an
// absent object.
type Members = fields.Members

// A Member is a name and its value.
type Member = fields.Member

// equalJSON reports whether two values have the same stored form.
func equalJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
