package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"almanac/activities"
	"almanac/activities/notify"
	"almanac/activities/senders"
	"almanac/internal/egress"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/notification"
)

// input returns a message about one failed job, for a target.
func input(target job.Action) notify.SendInput {
	a := notification.Alert{Event: job.EventFailed, Job: workflowtest.Key, Time: workflowtest.NewYear, Error: "down"}
	a.Identify("run", "e1")
	a.Describe("")
	m := notification.Message{ID: a.ID, Collection: workflowtest.Key.Collection}
	m.Add(&a)
	return notify.SendInput{Name: "ops", Target: target, Message: m}
}

// send makes one attempt.
func send(t *testing.T, all map[job.ActionType]activities.Sender, log *slog.Logger, in notify.SendInput) (r notify.Report, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(workflowtest.Silent)
	env := suite.NewTestActivityEnvironment()
	a := &notify.Activities{Senders: all, Log: log}
	env.RegisterActivityWithOptions(a.Send, activity.RegisterOptions{Name: notify.TypeSend})
	value, err := env.ExecuteActivity(notify.TypeSend, in)
	if err == nil {
		require.NoError(t, value.Get(&r))
	}
	return r, err
}

var silent = slog.New(slog.DiscardHandler)

// real returns the real senders, which may reach this machine.
func real(t *testing.T) map[job.ActionType]activities.Sender {
	t.Helper()
	guard, err := egress.Parse("public", []string{"127.0.0.1"}, nil)
	require.NoError(t, err)
	s, err := senders.New(senders.Options{Guard: guard})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s.ByType()
}

func TestAWebHookGetsACloudEventWithTheIDOfTheMessage(t *testing.T) {
	t.Parallel()
	var header http.Header
	var event map[string]any
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		_ = json.NewDecoder(r.Body).Decode(&event)
	}))
	defer hook.Close()
	in := input(job.Action{Type: job.ActionHTTP, Request: &job.Request{URI: hook.URL, Method: "POST"}})
	r, err := send(t, real(t), silent, in)
	require.NoError(t, err)
	require.Equal(t, 1, r.Attempt)
	require.Equal(t, "application/cloudevents+json; charset=utf-8", header.Get("Content-Type"))
	require.Equal(t, in.Message.ID, header.Get("Idempotency-Key"))
	require.Equal(t, in.Message.ID, event["id"])
	require.Equal(t, "io.almanac.job.failed", event["type"])
}

func TestAWebHookThatRefusesIsReportedWithWhatItAnsweredAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "password canary is wrong", http.StatusForbidden)
	}))
	defer hook.Close()
	var log strings.Builder
	in := input(job.Action{Type: job.ActionHTTP, Request: &job.Request{
		URI: hook.URL, Method: "POST", Authentication: &job.Authentication{Type: job.AuthBasic, Username: "u", Password: "canary"},
	}})
	_, err := send(t, real(t), slog.New(slog.NewTextHandler(&log, nil)), in)
	require.Error(t, err)
	r := notify.Failure(err)
	require.Contains(t, r.Message, "403")
	require.NotContains(t, r.Message+log.String()+err.Error(), "canary")
	require.Contains(t, log.String(), "notification=ops")
}

// A hanging sender answers when its attempt ends.
type hanging struct{}

func (hanging) Send(ctx context.Context, _ job.Execution, _ *job.Action) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

type panicking struct{}

func (panicking) Send(context.Context, job.Execution, *job.Action) (string, error) { panic("canary") } //nolint:forbidigo // what is tested

func TestATargetThatHangsHasTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := send(t, map[job.ActionType]activities.Sender{job.ActionHTTP: hanging{}}, silent, input(job.Action{Type: job.ActionHTTP}))
		require.ErrorContains(t, err, "timed out: not complete after 10 s")
		require.Equal(t, notify.SendTimeout, time.Since(start))
	})
}

func TestASenderThatPanicsShowsNoSecret(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	_, err := send(t, map[job.ActionType]activities.Sender{job.ActionHTTP: panicking{}}, slog.New(slog.NewTextHandler(&log, nil)), input(job.Action{Type: job.ActionHTTP}))
	require.ErrorContains(t, err, "an internal error of Almanac")
	require.NotContains(t, err.Error()+log.String(), "canary")
}

func TestWithoutAMailServerTheErrorSaysWhatToDoAndNothingIsRetried(t *testing.T) {
	t.Parallel()
	_, err := send(t, real(t), silent, input(job.Action{Type: job.ActionEmail, Email: &job.Email{To: []string{"a@example.com"}}}))
	require.ErrorContains(t, err, "this worker sends no e-mail: start it with --smtp-server")
	failed := new(temporal.ApplicationError)
	require.ErrorAs(t, err, &failed)
	require.True(t, failed.NonRetryable())
}

func TestADeliveryWithoutAReportMayHaveBeenSent(t *testing.T) {
	t.Parallel()
	require.Equal(t, "no worker recorded the outcome; the message may have been sent", notify.Failure(errors.New("timeout")).Message)
}
