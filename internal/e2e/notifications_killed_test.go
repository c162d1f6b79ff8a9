package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"almanac/activities/notify"
)

// operators forwards what a worker asks of the service of operators.
type operators struct {
	operatorservice.UnimplementedOperatorServiceServer
	behind operatorservice.OperatorServiceClient
}

func (o operators) ListSearchAttributes(ctx context.Context, r *operatorservice.ListSearchAttributesRequest) (*operatorservice.ListSearchAttributesResponse, error) {
	return o.behind.ListSearchAttributes(ctx, r)
}

// watched starts a frontend before that of a server, and returns its address. after is called with each request that
// the server has accepted, before its answer is passed on.
func watched(t *testing.T, temporal string, after func(request any)) string {
	t.Helper()
	behind, err := grpc.NewClient(temporal, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = behind.Close() })
	frontend, err := proxy.NewWorkflowServiceProxyServer(proxy.WorkflowServiceProxyOptions{Client: workflowservice.NewWorkflowServiceClient(behind)})
	require.NoError(t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		answer, err := handle(ctx, r)
		if err == nil {
			after(r)
		}
		return answer, err
	}))
	workflowservice.RegisterWorkflowServiceServer(server, frontend)
	operatorservice.RegisterOperatorServiceServer(server, operators{behind: operatorservice.NewOperatorServiceClient(behind)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

// schedules reports whether a worker's request schedules an activity of a type.
func schedules(request any, activity string) bool {
	r, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	if !ok {
		return false
	}
	for _, c := range r.Commands {
		if a, ok := c.Attributes.(*command.Command_ScheduleActivityTaskCommandAttributes); ok && a.ScheduleActivityTaskCommandAttributes.GetActivityType().GetName() == activity {
			return true
		}
	}
	return false
}

// offers reports whether a worker's request records what a job has offered to it of its alerts, which has not left yet.
// The failure before is that of the job's only execution.
func offers(request any) bool {
	r, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	return ok && slices.ContainsFunc(r.Commands, func(c *command.Command) bool {
		return slices.ContainsFunc(c.GetRecordMarkerCommandAttributes().GetDetails()["data"].GetPayloads(), func(p *common.Payload) bool {
			return strings.Contains(string(p.GetData()), `"again"`)
		})
	})
}

// A doomed worker is killed at a request of its own.
type doomed struct {
	*half
	once sync.Once
	dead chan struct{}
}

// die kills the worker, once, and waits until it is gone.
func (d *doomed) die() {
	d.once.Do(func() {
		_ = d.Process.Kill()
		_ = d.Wait()
		close(d.dead)
	})
}

// startDoomed starts a worker that is killed right after the server has accepted a request for which at holds.
func startDoomed(t *testing.T, temporal, namespace string, at func(request any) bool) *doomed {
	t.Helper()
	var worker atomic.Pointer[doomed]
	address := watched(t, temporal, func(request any) {
		if d := worker.Load(); d != nil && at(request) {
			d.die()
		}
	})
	d := &doomed{half: startHalfIn(t, address, namespace, "", "worker"), dead: make(chan struct{})}
	worker.Store(d)
	return d
}

// gone waits until the worker was killed.
func (d *doomed) gone(t *testing.T) {
	t.Helper()
	select {
	case <-d.dead:
	case <-time.After(2 * time.Minute):
		t.Fatalf("the worker was not killed: %s", &d.log)
	}
}

// An alert arrives once, wherever between the failure and the receiver's answer the worker is killed.
func TestAnAlertSurvivesTheDeathOfItsWorker(t *testing.T) {
	t.Parallel()
	temporal := newServer(t, t.TempDir(), quiet).Address()
	var cases group
	for _, tt := range []struct {
		name  string
		hangs bool // the receiver, until the worker was killed
		at    func(request any) bool
	}{
		{"when the failure is recorded", false, func(request any) bool {
			_, ok := request.(*workflowservice.RespondActivityTaskFailedRequest)
			return ok
		}},
		{"when the job has decided to raise it", false, offers},
		{"when it is handed over, and nobody knows", false, func(request any) bool {
			r, ok := request.(*workflowservice.SignalWithStartWorkflowExecutionRequest)
			return ok && strings.EqualFold(r.SignalName, "raise")
		}},
		{"when it is to be sent", false, func(request any) bool { return schedules(request, notify.TypeSend) }},
		{"while the receiver hangs", true, func(any) bool { return false }},
	} {
		cases.run(t, tt.name, func(t *testing.T) {
			namespace := newNamespace(t, temporal)
			d := startDoomed(t, temporal, namespace, tt.at)
			target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/fails":
					w.WriteHeader(http.StatusNotFound)
				case "/alerts":
					if tt.hangs {
						d.die()
					}
				}
			})
			front := startHalfIn(t, temporal, namespace, "", "api", "--listen", "127.0.0.1:0")
			collection := front.url + "/jobCollections/killed"
			require.Equal(t, http.StatusCreated, call(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"},"notifications":[{"name":"ops","on":["failed"],`+
				`"target":{"type":"Http","request":{"uri":"`+target.URL+`/alerts"},"retryPolicy":{"retryInterval":"PT15S"}}}]}}`).code)
			created(t, collection+"/jobs/j", `{"properties":{"action":{"type":"Http","request":{"uri":"`+target.URL+`/fails"},"retryPolicy":{"retryType":"none"}}}}`)
			d.gone(t)
			startHalfIn(t, temporal, namespace, "", "worker")

			var list reply
			eventually(t, "alert that was delivered", func() bool {
				list = call(t, http.MethodGet, collection+"/notifications", "")
				return list.get("value.0.status") == "Delivered"
			})
			require.Equal(t, 1, list.count("value"), list.body)
			require.Len(t, target.got("/fails"), 1)
			got := target.got("/alerts")
			ids := map[string]bool{}
			for _, r := range got {
				require.Equal(t, "io.almanac.job.failed", alertOf(t, r).Type)
				ids[r.key] = true
			}
			require.Len(t, ids, 1, "attempts of one message have one id")
			if !tt.hangs {
				require.Len(t, got, 1)
			}
		})
	}
	cases.Wait()
}

// Hundreds of jobs that fail within seconds are a message a minute, also if the worker is killed in the middle.
func TestAStormOfFailuresIsFewMessagesAcrossTheDeathOfAWorker(t *testing.T) {
	t.Parallel()
	const jobs = 300
	temporal := newServer(t, t.TempDir(), quiet).Address()
	worker := startHalf(t, temporal, "", "worker")
	var failed atomic.Int32
	middle := make(chan struct{})
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/fails") {
			w.WriteHeader(http.StatusNotFound)
			if failed.Add(1) == jobs/3 {
				close(middle)
			}
		}
	})
	front := startHalf(t, temporal, "", "api", "--listen", "127.0.0.1:0")
	collection := front.url + "/jobCollections/storm"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"P20Premium"},"notifications":[{"name":"ops","on":["failed"],`+
		`"target":{"type":"Http","request":{"uri":"`+target.URL+`/alerts"},"retryPolicy":{"retryInterval":"PT15S"}}}]}}`).code)
	var created errgroup.Group
	created.SetLimit(8)
	creating := make(chan error, 1)
	go func() {
		for i := range jobs {
			// runs at once
			body := fmt.Sprintf(`{"properties":{"action":{"type":"Http","request":{"uri":"%s/fails/%d"},"retryPolicy":{"retryType":"none"}}}}`, target.URL, i)
			created.Go(func() error {
				for {
					r, err := tryCall(t.Context(), http.MethodPut, fmt.Sprintf("%s/jobs/j%d", collection, i), body)
					switch {
					case err != nil:
						return err
					case r.code/100 == 2:
						return nil
					case r.code != http.StatusServiceUnavailable: // while there is no worker
						return fmt.Errorf("job %d: %d %s", i, r.code, r.body)
					}
				}
			})
		}
		creating <- created.Wait()
	}()
	<-middle
	worker.kill(t)
	startHalf(t, temporal, "", "worker")
	require.NoError(t, <-creating)

	total, first, last := 0, time.Time{}, time.Time{}
	messages := map[string]bool{}
	eventually(t, "alert of each job", func() bool {
		total, messages = 0, map[string]bool{}
		for _, r := range target.got("/alerts") {
			if messages[r.key] {
				continue // another attempt
			}
			if len(messages) == 0 {
				first = r.at
			}
			messages[r.key], last = true, r.at
			var e struct{ Data struct{ Total int } }
			require.NoError(t, json.Unmarshal([]byte(r.body), &e))
			total += max(e.Data.Total, 1)
		}
		return total >= jobs
	})
	require.Equal(t, jobs, total, "each job failed once")
	t.Logf("%d messages in %s", len(messages), last.Sub(first))
	require.LessOrEqual(t, len(messages), 2+int(last.Sub(first)/time.Minute))
}
