package e2e_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"almanac/internal/freeport"
	namespaces "almanac/scheduler/setup"
)

// inNamespace starts half of Almanac on a namespace of the shared server. It does not wait.
func inNamespace(t *testing.T, s *stack, namespace string, args ...string) *half {
	t.Helper()
	h := &half{process: process{Cmd: exec.CommandContext(t.Context(), program(t), args...)}}
	h.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+s.address, "TEMPORAL_NAMESPACE="+namespace, "ALMANAC_EGRESS=any")
	h.Stdout, h.Stderr = &h.log, &h.log
	require.NoError(t, h.Start())
	t.Cleanup(func() {
		h.kill(t)
		if t.Failed() {
			t.Logf("%s\n%s", args, &h.log)
		}
	})
	return h
}

// newNamespace creates a namespace of the test's own, and returns its name.
func newNamespace(t *testing.T, temporal string) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	c, err := client.NewLazyClient(client.Options{HostPort: temporal, Namespace: name, Logger: sdklog.NewStructuredLogger(quiet)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, namespaces.Run(t.Context(), namespaces.Options{Client: c, Namespace: name, Retention: 24 * time.Hour, Out: io.Discard}))
	return name
}

// freeAddress returns an address on which nothing listens, and that no other test gets.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Address()
	require.NoError(t, err)
	return address
}

// A worker and an API that were started before the namespace exists say so, and work once it was set up.
func TestSetupPreparesANamespaceForProcessesThatWait(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	const namespace = "set-up"
	worker := inNamespace(t, s, namespace, "worker")
	address := freeAddress(t)
	api := inNamespace(t, s, namespace, "api", "--listen", address)
	for _, h := range []*half{worker, api} {
		eventually(t, "line that names almanac setup", func() bool { return strings.Contains(h.log.String(), "almanac setup") })
	}
	url := "http://" + address
	r := call(t, http.MethodGet, url+"/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, r.code)
	require.Contains(t, r.get("missing"), "almanac setup")

	out := prepared(t, s, namespace, "--retention", "2d")
	require.Contains(t, out, `"set-up" created, retention 2d`)
	require.Contains(t, out, "search attributes", "the API that waited may have added some of them first")

	eventually(t, "200 of /readyz", func() bool { return call(t, http.MethodGet, url+"/readyz", "").code == http.StatusOK })
	r = call(t, http.MethodPut, url+"/jobCollections/jobs", `{"properties":{"sku":{"name":"Standard"}}}`)
	require.Equal(t, http.StatusCreated, r.code, r.body)
	r = call(t, http.MethodPut, url+"/jobCollections/jobs/jobs/hello", get(target.URL+"/hello", ""))
	require.Equal(t, http.StatusCreated, r.code, r.body)
	target.await(t, "/hello", 1)
	require.Equal(t, 1, strings.Count(worker.log.String(), "almanac setup"), "it is said once: %s", &worker.log)

	out = prepared(t, s, namespace, "--retention", "2d")
	require.Contains(t, out, `"set-up" exists, retention 2d`)
	require.Contains(t, out, "search attributes  all exist")
	require.NotContains(t, out, "retention 2d\n  ")
	out = prepared(t, s, namespace)
	require.Contains(t, out, "temporal operator namespace update --namespace set-up --retention 60d", "a retention that exists is kept")
	require.Contains(t, prepared(t, s, namespace), `"set-up" exists, retention 2d`)
}

func TestSetupCreatesANamespaceWithItsSearchAttributes(t *testing.T) {
	t.Parallel()
	out := prepared(t, use(t), "set-up-alone")
	require.Contains(t, out, `"set-up-alone" created, retention 60d`)
	require.Contains(t, out, "added AlmanacCollection, AlmanacJob, AlmanacLastOutcome, AlmanacOutlineTime, AlmanacResourceGroup, AlmanacState, AlmanacSubscription")
}

// prepared runs `almanac setup` and returns what it printed.
func prepared(t *testing.T, s *stack, namespace string, args ...string) string {
	t.Helper()
	h := inNamespace(t, s, namespace, append([]string{"setup"}, args...)...)
	require.NoError(t, h.Wait(), "%s", &h.log)
	return h.log.String()
}

// refusing starts a frontend before that of a server which refuses the calls of operators, and returns a client of it.
func refusing(t *testing.T, s *stack, namespace string, with codes.Code) client.Client {
	t.Helper()
	behind, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = behind.Close() })
	frontend, err := proxy.NewWorkflowServiceProxyServer(proxy.WorkflowServiceProxyOptions{Client: workflowservice.NewWorkflowServiceClient(behind)})
	require.NoError(t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, r any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if info.FullMethod == workflowservice.WorkflowService_RegisterNamespace_FullMethodName || strings.Contains(info.FullMethod, "operatorservice") {
			return nil, grpcstatus.Error(with, "for operators only")
		}
		return handle(ctx, r)
	}))
	workflowservice.RegisterWorkflowServiceServer(server, frontend)
	operatorservice.RegisterOperatorServiceServer(server, operatorservice.UnimplementedOperatorServiceServer{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	c, err := client.NewLazyClient(client.Options{HostPort: l.Addr().String(), Namespace: namespace, Logger: sdklog.NewStructuredLogger(quiet)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestSetupSaysWhatAnOperatorHasToRunWhereItIsRefused(t *testing.T) {
	t.Parallel()
	s := use(t)
	for _, code := range []codes.Code{codes.PermissionDenied, codes.Unimplemented} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			namespace := "locked-" + strings.ToLower(code.String())
			c := refusing(t, s, namespace, code)
			run := func(c client.Client) (string, error) {
				var out strings.Builder
				err := namespaces.Run(t.Context(), namespaces.Options{Client: c, Namespace: namespace, Retention: 36 * time.Hour, Out: &out})
				return out.String(), err
			}
			_, err := run(c)
			require.EqualError(t, err, fmt.Sprintf(`the namespace "%[1]s" does not exist, and Temporal does not let this client make it (%[2]s); have an operator of Temporal run: `+
				`temporal operator namespace create --namespace %[1]s --retention 36h`, namespace, code))

			operator, err := client.NewLazyClient(client.Options{HostPort: s.address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(quiet)})
			require.NoError(t, err)
			t.Cleanup(operator.Close)
			_, err = operator.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
				Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(36 * time.Hour),
			})
			require.NoError(t, err)
			out, err := run(c)
			require.Contains(t, out, "exists, retention 36h")
			require.EqualError(t, err, "search attributes are missing: AlmanacCollection, AlmanacJob, AlmanacLastOutcome, AlmanacOutlineTime, AlmanacResourceGroup, AlmanacState, AlmanacSubscription, "+
				"and Temporal does not let this client make it ("+code.String()+"); have an operator of Temporal run: temporal operator search-attribute create --namespace "+namespace+
				" --name AlmanacCollection --type Keyword --name AlmanacJob --type Keyword --name AlmanacLastOutcome --type Keyword --name AlmanacOutlineTime --type Datetime --name AlmanacResourceGroup --type Keyword --name AlmanacState --type Keyword --name AlmanacSubscription --type Keyword")

			_, err = run(operator)
			require.NoError(t, err)
			out, err = run(c)
			require.NoError(t, err, "what exists is enough")
			require.Contains(t, out, "all exist")
		})
	}
}

func TestSetupRefusesASearchAttributeOfAnotherType(t *testing.T) {
	t.Parallel()
	s := use(t)
	const namespace = "typed"
	c, err := client.NewLazyClient(client.Options{HostPort: s.address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(quiet)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(time.Hour)})
	require.NoError(t, err)
	require.NoError(t, namespaces.AwaitNamespace(t.Context(), c, namespace, func() {}))
	eventually(t, "search attribute", func() bool {
		_, err = c.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: map[string]enums.IndexedValueType{"AlmanacJob": enums.INDEXED_VALUE_TYPE_TEXT},
		})
		return err == nil
	})
	err = namespaces.Run(t.Context(), namespaces.Options{Client: c, Namespace: namespace, Retention: time.Hour, Out: t.Output()})
	require.ErrorContains(t, err, "the search attribute AlmanacJob of namespace \"typed\" has type Text, and Almanac needs Keyword")
}

var quiet = slog.New(slog.DiscardHandler)
