package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/job"
)

// arrived returns an activity's error as its workflow receives it.
func arrived(err error) error {
	c := temporal.GetDefaultFailureConverter()
	return c.FailureToError(c.ErrorToFailure(err))
}

func TestEndingOf(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 5, 9, 0, 0, 0, time.FixedZone("", 2*60*60))
	until := since.Add(30 * time.Second)
	one := []job.Attempt{{Number: 1, Start: since.Add(time.Second).UTC(), End: since.Add(2 * time.Second).UTC(), Outcome: job.OutcomeFailed, Message: "refused"}}
	succeeded := []job.Attempt{{Number: 1, Start: since.Add(time.Second).UTC(), End: since.Add(2 * time.Second).UTC(), Outcome: job.OutcomeCompleted, Message: "fine"}}
	retried := &activities.Ending{Text: "refused", Next: until.Add(time.Hour).UTC()}
	missing := func(number int, start time.Time) job.Attempt {
		return job.Attempt{Number: number, Start: start.UTC(), End: until.UTC(), Outcome: job.OutcomeFailed, Message: lost}
	}
	failed := func(errType string, details ...any) error {
		return temporal.NewApplicationErrorWithOptions("refused", errType, temporal.ApplicationErrorOptions{Details: details})
	}
	timedOut := func(kind enums.TimeoutType, details ...any) error {
		return temporal.NewTimeoutError(kind, nil, details...)
	}
	const heartbeat, whole = enums.TIMEOUT_TYPE_HEARTBEAT, enums.TIMEOUT_TYPE_START_TO_CLOSE
	report := func(attempts ...job.Attempt) activities.Ending { return activities.Ending{Attempts: attempts} }
	ended := func(how activities.How, attempts ...job.Attempt) activities.Ending {
		return activities.Ending{How: how, Attempts: attempts}
	}
	for _, tt := range []struct {
		name string
		err  error
		want activities.Ending
	}{
		{"a success", nil, activities.Ending{}},
		{"a failure", failed(activities.ErrTypeFailed, activities.Ending{Attempts: one, Hold: 700}),
			activities.Ending{How: activities.ToRetry, Attempts: one, Hold: 700}},
		{"the last failure", temporal.NewNonRetryableApplicationError("refused", activities.ErrTypeFailed, nil, report(one...)), ended(activities.Failed, one...)},
		{"a failure without details", failed(activities.ErrTypeFailed), ended(activities.ToRetry)},
		{"a failure whose details cannot be read", failed(activities.ErrTypeFailed, "text"), ended(activities.ToRetry)},
		{"another application error", failed("Other"), ended(activities.Failed)},
		{"another error", errors.New("something else"), ended(activities.Failed)},
		{"nothing was sent", failed(activities.ErrTypeUnsent, report()), ended(activities.Unsent)},
		{"a retry was not sent", failed(activities.ErrTypeUnsent, report(one...)), ended(activities.Unsent, one...)},
		{"one before it was lost", failed(activities.ErrTypeLost, report(missing(1, since))), ended(activities.Lost, missing(1, since))},
		{"cancelled while no worker had it", temporal.NewCanceledError(), ended(activities.Cancelled)},
		{"lost before the first heartbeat", timedOut(heartbeat), ended(activities.Unsent)},
		{"lost before the fence of a retry", timedOut(heartbeat, activities.Progress{Attempts: one, Sent: 1}),
			ended(activities.Unsent, one...)},
		{"lost after the fence", timedOut(heartbeat, activities.Progress{Sent: 1, Lease: 1000}),
			ended(activities.Lost, missing(1, since))},
		{"lost while it waited for its receiver", timedOut(heartbeat, activities.Progress{Sent: 1}),
			ended(activities.Lost, missing(1, since))},
		{"lost after the fence of a retry", timedOut(heartbeat, activities.Progress{Attempts: one, Sent: 2}),
			ended(activities.Lost, one[0], missing(2, one[0].End))},
		{"lost, and its progress cannot be read", timedOut(heartbeat, "progress"),
			ended(activities.Lost, missing(1, since))},
		{"lost before it reported a success", timedOut(heartbeat, activities.Progress{Attempts: succeeded, Sent: 1, Ended: &activities.Ending{Hold: 700}}),
			activities.Ending{Attempts: succeeded, Hold: 700}},
		{"lost before it reported the last failure", timedOut(heartbeat, activities.Progress{Attempts: one, Sent: 1, Ended: &activities.Ending{Text: "refused"}}),
			activities.Ending{How: activities.Failed, Attempts: one, Text: "refused"}},
		{"took too long to report a failure before a retry", timedOut(whole, activities.Progress{Attempts: one, Sent: 1, Ended: retried}),
			activities.Ending{How: activities.ToRetry, Attempts: one, Text: "refused", Next: retried.Next}},
		{"took too long before the fence", timedOut(whole), ended(activities.Unsent)},
		{"took too long after the fence", timedOut(whole, activities.Progress{Sent: 1}),
			ended(activities.Lost, missing(1, since))},
		{"lost, after a failure that says less", temporal.NewTimeoutError(heartbeat, failed(activities.ErrTypeFailed, report()), activities.Progress{Attempts: one, Sent: 2}),
			ended(activities.Lost, one[0], missing(2, one[0].End))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := arrived(tt.err)
			got := activities.EndingOf(err, since, until)
			if tt.want.How == activities.Completed {
				require.NoError(t, got.Err)
			} else if tt.want.Text == "" {
				require.Equal(t, err, got.Err)
			} else {
				require.EqualError(t, got.Err, "refused (type: ActionFailed, retryable: false)", "as if it had been reported")
			}
			got.Err = nil
			require.Equal(t, tt.want, got)
		})
	}
}

func TestLostAttemptNeverEndsBeforeItStarts(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	late := until.Add(time.Second) // by another machine's clock
	for name, p := range map[string]activities.Progress{
		"the first attempt": {Sent: 1},
		"a retry":           {Attempts: []job.Attempt{{Number: 1, Start: until.Add(-time.Second), End: late}}, Sent: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempts := activities.EndingOf(arrived(temporal.NewHeartbeatTimeoutError(p)), late, until).Attempts
			require.Len(t, attempts, p.Sent)
			got := attempts[len(attempts)-1]
			require.Equal(t, until, got.Start)
			require.Equal(t, until, got.End)
		})
	}
}
