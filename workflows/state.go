package workflows

import (
	"encoding/json"

	"almanac/job"
)

// A StateRequest enables or disables a job or a job collection.
type StateRequest struct {
	// Generation is that which the caller read; 0 for any.
	Generation int `json:"generation,omitempty"`
	// Promise says of disabling until when and what follows, and of enabling what runs of what was held.
	job.Promise
}

// UnmarshalJSON reads an object, or a number with the generation.
func (r *StateRequest) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] != '{' {
		return json.Unmarshal(text, &r.Generation)
	}
	type plain StateRequest
	return json.Unmarshal(text, (*plain)(r))
}
