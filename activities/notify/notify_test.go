package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"almanac/activities/notify"
	"almanac/activities/senders"
	"almanac/internal/egress"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

// input returns a message about one failed job, for a target.
func input(target job.Target) notify.Item {
	a := notification.Alert{Event: job.EventFailed, Job: workflowtest.Key, Time: workflowtest.NewYear, Error: "down"}
	a.Identify("run", "e1")
	a.Describe("")
	m := notification.Message{ID: a.ID, Collection: workflowtest.Key.Collection}
	m.Add(&a)
	return notify.Item{Name: "ops", Target: target, Message: m, Attempt: 1}
}

var toNobody = job.Target{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{}}}

// send makes one attempt.
func send(t *testing.T, all map[kind.Type]notify.Sender, log *slog.Logger, in notify.Item) notify.Report {
	t.Helper()
	return sendAll(t, all, log, nil, in)[0]
}

// sendAll makes an attempt for each of some messages, after an activity that was lost with these reports.
func sendAll(t *testing.T, all map[kind.Type]notify.Sender, log *slog.Logger, lost []notify.Report, items ...notify.Item) (reports []notify.Report) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(workflowtest.Silent)
	env := suite.NewTestActivityEnvironment()
	a := &notify.Activities{Senders: all, Log: log}
	env.RegisterActivityWithOptions(a.Send, activity.RegisterOptions{Name: notify.TypeSend})
	if lost != nil {
		env.SetHeartbeatDetails(lost)
	}
	value, err := env.ExecuteActivity(notify.TypeSend, notify.SendInput{Items: items})
	require.NoError(t, err)
	require.NoError(t, value.Get(&reports))
	require.Len(t, reports, len(items))
	for _, r := range reports {
		require.True(t, r.Done)
		require.False(t, r.Time.IsZero())
	}
	return reports
}

var silent = slog.New(slog.DiscardHandler)

// real returns the real senders, which may reach this machine.
func real(t *testing.T) map[kind.Type]notify.Sender {
	t.Helper()
	guard, err := egress.Parse("public", []string{"127.0.0.1"}, nil)
	require.NoError(t, err)
	s, err := senders.New(senders.Options{Guard: guard})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s.Notifications()
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
	in := input(job.Target{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{URI: hook.URL, Method: "POST"}}})
	r := send(t, real(t), silent, in)
	require.True(t, r.Delivered)
	require.Equal(t, 1, r.Posted)
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
	in := input(job.Target{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{
		URI: hook.URL, Method: "POST", Authentication: &kind.Authentication{Type: kind.AuthBasic, Username: "u", Password: "canary"},
	}}})
	r := send(t, real(t), slog.New(slog.NewTextHandler(&log, nil)), in)
	require.False(t, r.Delivered)
	require.Contains(t, r.Message, "403")
	require.NotContains(t, r.Message+log.String(), "canary")
	require.Contains(t, log.String(), "notification=ops")
}

// A hanging sender answers when its attempt ends.
type hanging struct{}

func (hanging) Send(ctx context.Context, _ job.Execution, _ *notification.Post) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

type panicking struct{}

func (panicking) Send(context.Context, job.Execution, *notification.Post) (string, error) {
	panic("canary")
} //nolint:forbidigo // what is tested

func TestATargetThatHangsHasTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := send(t, map[kind.Type]notify.Sender{kind.HTTP: hanging{}}, silent, input(toNobody))
		require.Equal(t, "timed out: not complete after 10 s", r.Message)
		require.True(t, r.Hung)
		require.Equal(t, notify.SendTimeout, time.Since(start))
	})
}

func TestASenderThatPanicsShowsNoSecret(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	r := send(t, map[kind.Type]notify.Sender{kind.HTTP: panicking{}}, slog.New(slog.NewTextHandler(&log, nil)), input(toNobody))
	require.Contains(t, r.Message, "an internal error of Almanac")
	require.NotContains(t, r.Message+log.String(), "canary")
}

func TestWithoutAMailServerTheErrorSaysWhatToDoAndNothingIsRetried(t *testing.T) {
	t.Parallel()
	r := send(t, real(t), silent, input(job.Target{Type: kind.Mail, Own: kind.Own{Email: &kind.Email{To: []string{"a@example.com"}}}}))
	require.Contains(t, r.Message, "this worker sends no e-mail: start it with --smtp-server")
	require.True(t, r.Final)
}

const routingKey = "0123456789abcdef0123456789ABCDEF"

// pagerDuty returns the input of a delivery of two failed jobs to a receiver in place of PagerDuty.
func pagerDuty(uri string) notify.Item {
	var open notification.Incidents
	m := notification.Message{ID: "m1", Collection: workflowtest.Key.Collection}
	for _, name := range []string{"a", "b"} {
		alert := notification.Alert{Event: job.EventFailed, Job: m.Collection.Job(name), Time: workflowtest.NewYear}
		alert.Identify("run", "e1")
		alert.Describe("")
		open.Add(&m, &alert)
	}
	return notify.Item{Name: "ops", Attempt: 1, Message: m, Target: job.Target{Type: kind.Duty, Own: kind.Own{PagerDuty: &kind.PagerDuty{RoutingKey: routingKey, URI: uri}}}}
}

func TestADeliveryToPagerDutyGoesOnWhereTheAttemptBeforeFailed(t *testing.T) {
	t.Parallel()
	var got []string
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct {
			Key string `json:"dedup_key"`
		}
		_ = json.NewDecoder(r.Body).Decode(&e)
		got = append(got, e.Key)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer hook.Close()
	in := pagerDuty(hook.URL)
	require.Equal(t, 2, send(t, real(t), silent, in).Posted)
	first, second := "almanac/failed/"+workflowtest.Key.Collection.Job("a").WorkflowID(), "almanac/failed/"+workflowtest.Key.Collection.Job("b").WorkflowID()
	require.Equal(t, []string{first, second}, got)

	got = nil
	require.True(t, sendAll(t, real(t), silent, []notify.Report{{Posted: 1}}, in)[0].Delivered)
	require.Equal(t, []string{second}, got, "the first was accepted before the worker was lost")

	got = nil
	in.Posted = 1
	require.Equal(t, 2, send(t, real(t), silent, in).Posted)
	require.Equal(t, []string{second}, got, "the first was accepted by an earlier attempt")
}

func TestWhatPagerDutyRefusesIsNotSentAgainAndShowsNoRoutingKey(t *testing.T) {
	t.Parallel()
	for status, permanent := range map[int]bool{http.StatusBadRequest: true, http.StatusTooManyRequests: false, http.StatusInternalServerError: false} {
		asked := 0
		hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(status)
			_, _ = io.Copy(w, r.Body) // with the key
		}))
		defer hook.Close()
		var log strings.Builder
		r := send(t, real(t), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), pagerDuty(hook.URL))
		require.Equal(t, permanent, r.Final, "%d", status)
		require.Equal(t, 1, asked)
		require.Contains(t, log.String(), fmt.Sprintf("request 1 of 2: %d %s: ", status, http.StatusText(status)))
		require.NotContains(t, r.Message+log.String(), routingKey)
		wanted := time.Duration(0)
		if status == http.StatusTooManyRequests {
			wanted = 2 * time.Minute
		}
		require.Equal(t, wanted, r.Pause)
	}
}

func TestNoAlertIsLostWithATestThatFails(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.NotFoundHandler())
	defer hook.Close()
	for event, want := range map[job.Event]string{
		notification.EventTest: "test of a notification failed", job.EventFailed: "notification failed; its alerts are lost",
	} {
		in := input(job.Target{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{URI: hook.URL, Method: "POST"}}})
		in.Message.Alerts[0].Event, in.Last = event, true
		var log strings.Builder
		r := send(t, real(t), slog.New(slog.NewTextHandler(&log, nil)), in)
		require.Equal(t, "404 Not Found: 404 page not found", r.Message)
		require.Contains(t, log.String(), `msg="`+want+`"`)
		require.Equal(t, 1, strings.Count(log.String(), "\n"))
	}
}

func TestAWebHookThatFailsIsReportedAndSentAgain(t *testing.T) {
	t.Parallel()
	hijack := func(w http.ResponseWriter) net.Conn {
		c, _, err := w.(http.Hijacker).Hijack()
		require.NoError(t, err)
		return c
	}
	for _, tt := range []struct {
		name, want string
		answer     http.HandlerFunc
	}{
		{"4xx", "404 Not Found", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }},
		{"5xx", "502 Bad Gateway", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }},
		{"a redirect elsewhere", "it leads to host 'example.com'", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/", http.StatusFound)
		}},
		{"a connection that is closed without an answer", "the host closed the connection before its answer was complete; it may have read the request", func(w http.ResponseWriter, _ *http.Request) { _ = hijack(w).Close() }},
		{"an answer that is none", "the answer is not valid HTTP", func(w http.ResponseWriter, _ *http.Request) {
			c := hijack(w)
			_, _ = c.Write([]byte("hello\r\n\r\n"))
			_ = c.Close()
		}},
		{"an answer that ends early", "not all of its body came", func(w http.ResponseWriter, _ *http.Request) {
			c := hijack(w)
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
			_ = c.Close()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			hook := httptest.NewServer(tt.answer)
			defer hook.Close()
			var log strings.Builder
			r := send(t, real(t), slog.New(slog.NewTextHandler(&log, nil)), input(job.Target{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{URI: hook.URL, Method: "POST"}}}))
			require.False(t, r.Delivered)
			require.False(t, r.Final)
			require.Contains(t, r.Message, tt.want)
			require.Contains(t, log.String(), "notification failed, and is sent again")
		})
	}
}

func TestADeliveryThatFailedForGoodIsLoggedAsALossAndCounted(t *testing.T) {
	t.Parallel()
	counted := &workflowtest.Counters{}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(workflowtest.Silent)
	suite.SetMetricsHandler(counted)
	env := suite.NewTestActivityEnvironment()
	var log strings.Builder
	a := &notify.Activities{Senders: real(t), Log: slog.New(slog.NewTextHandler(&log, nil))}
	env.RegisterActivityWithOptions(a.Send, activity.RegisterOptions{Name: notify.TypeSend})
	_, err := env.ExecuteActivity(notify.TypeSend, notify.SendInput{Items: []notify.Item{input(job.Target{Type: kind.Mail, Own: kind.Own{Email: &kind.Email{To: []string{"a@example.com"}}}})}})
	require.NoError(t, err)
	require.Equal(t, []string{"almanac_notifications Email failed"}, counted.Counted())
	require.Contains(t, log.String(), `level=WARN msg="notification failed; its alerts are lost"`)
}

// someHang hangs for targets with the method HANG.
type someHang struct{ sent chan string }

func (s someHang) Send(ctx context.Context, _ job.Execution, p *notification.Post) (string, error) {
	s.sent <- p.Action.Request.URI
	if p.Action.Request.Method == "HANG" {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return "200 OK", nil
}

func TestMessagesOfOneActivityAreSentAtOnceAndOnlyThoseFailWhoseTargetHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := someHang{make(chan string, 100)}
		var items []notify.Item
		for i, method := range []string{"HANG", "POST", "HANG", "POST", "POST"} {
			items = append(items, input(job.Target{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{Method: method, URI: strings.Repeat("x", i)}}}))
		}
		done := notify.Report{Done: true, Delivered: true, Time: time.Now(), Message: "before"}
		start := time.Now()
		reports := sendAll(t, map[kind.Type]notify.Sender{kind.HTTP: s}, silent, []notify.Report{{}, {}, {}, {}, done}, items...)
		require.Equal(t, notify.SendTimeout, time.Since(start))
		for i, r := range reports {
			require.Equal(t, i != 0 && i != 2, r.Delivered, "%d", i)
			require.Equal(t, !r.Delivered, r.Hung)
		}
		require.Equal(t, "before", reports[4].Message, "what was done before a worker was lost is not done again")
		require.Len(t, s.sent, 4)
	})
}
