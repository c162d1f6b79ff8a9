package jobloop

import (
	"context"
	"fmt"

	"almanac/workflows/plan"
)

// Plan is the activity that answers a request with the time zones of this worker. It fails if these are too old.
func Plan(_ context.Context, r plan.Request) (plan.Plan, error) {
	answer, err := r.Answer()
	if err == nil && answer.Behind != "" {
		err = fmt.Errorf("the time zones of this worker are those of %s, and those of %s or later are needed", answer.Behind, max(r.Zone.Release, r.Least))
	}
	return answer, err
}
