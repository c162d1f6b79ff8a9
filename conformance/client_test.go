package conformance_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler" //nolint:staticcheck // retired, as is the service
	"github.com/Azure/go-autorest/autorest"
	"github.com/Azure/go-autorest/autorest/azure"
	"github.com/stretchr/testify/require"
)

// The names that all tests use, each in a subscription of its own.
const (
	group      = "conformance"
	collection = "things"
)

// canary begins every secret that the tests write. Whatever an answer holds of
// it fails the test.
const canary = "canary-"

// A client is the official client for Go.
type client struct {
	subscription string
	collections  scheduler.JobCollectionsClient
	jobs         scheduler.JobsClient
}

// newClient returns a client for a new subscription. What the test leaves
// there is deleted after it.
func newClient(t *testing.T) client {
	t.Helper()
	c := newClientOf(t, almanac, newSubscription(), autorest.NewBearerAuthorizer(token{}))
	ctx := context.WithoutCancel(t.Context()) // which ends before cleanups do
	t.Cleanup(func() { c.deleteAll(ctx, t) })
	return c
}

// newSubscription returns the ID of a new subscription.
func newSubscription() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// newClientOf returns a client of the Almanac at a URL, which logs in by authorizer.
func newClientOf(t *testing.T, url, subscription string, authorizer autorest.Authorizer) client {
	t.Helper()
	c := client{
		subscription: subscription,
		collections:  scheduler.NewJobCollectionsClientWithBaseURI(url, subscription),
		jobs:         scheduler.NewJobsClientWithBaseURI(url, subscription),
	}
	for _, base := range []*autorest.Client{&c.collections.Client, &c.jobs.Client} {
		base.Authorizer = authorizer
		base.Sender = &http.Client{Transport: secretGuard{t}}
		base.SkipResourceProviderRegistration = true // there is none
		base.RetryAttempts = 1
		base.PollingDelay = 100 * time.Millisecond
	}
	return c
}

// deleteAll deletes every collection of the subscription.
func (c client) deleteAll(ctx context.Context, t *testing.T) {
	all, err := c.collections.ListBySubscription(ctx)
	if err != nil {
		t.Errorf("list what the test leaves: %v", err)
		return
	}
	for _, left := range all.Values() {
		inGroup := strings.Split(*left.ID, "/")[4]
		future, err := c.collections.Delete(ctx, inGroup, *left.Name)
		if err == nil {
			err = future.WaitForCompletionRef(ctx, c.collections.Client)
		}
		if err != nil {
			t.Errorf("delete what the test leaves: %v", err)
		}
	}
}

// create makes the collection with a plan.
func (c client) create(t *testing.T, plan scheduler.SkuDefinition) {
	t.Helper()
	got, err := c.collections.CreateOrUpdate(t.Context(), group, collection, scheduler.JobCollectionDefinition{
		Location:   new("North Europe"),
		Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: plan}},
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, got.StatusCode)
}

// put makes or replaces a job.
func (c client) put(t *testing.T, name string, p scheduler.JobProperties) scheduler.JobDefinition {
	t.Helper()
	got, err := c.jobs.CreateOrUpdate(t.Context(), group, collection, name, scheduler.JobDefinition{Properties: &p})
	require.NoError(t, err)
	return got
}

// get returns the properties of a job.
func (c client) get(t *testing.T, name string) scheduler.JobProperties {
	t.Helper()
	got, err := c.jobs.Get(t.Context(), group, collection, name)
	require.NoError(t, err)
	require.NotNil(t, got.Properties)
	return *got.Properties
}

// awaitState returns the properties of a job once it is in that state.
func (c client) awaitState(t *testing.T, name string, state scheduler.JobState) scheduler.JobProperties {
	t.Helper()
	var last scheduler.JobProperties
	await(t, fmt.Sprintf("job %s that is %s", name, state), func() bool {
		last = c.get(t, name)
		return strings.EqualFold(string(last.State), string(state))
	})
	return last
}

// get is an action that calls a URL.
func get(uri string) *scheduler.JobAction {
	return &scheduler.JobAction{Type: scheduler.HTTP, Request: &scheduler.HTTPRequest{Method: new("GET"), URI: &uri}}
}

// serviceError returns what the client makes of an answer that it does not
// accept: the status, and the code and message in its body.
func serviceError(t *testing.T, err error) (status any, body azure.ServiceError) {
	t.Helper()
	require.Error(t, err)
	failed, ok := errors.AsType[autorest.DetailedError](err)
	require.True(t, ok, "the client cannot read %v", err)
	if inner, ok := errors.AsType[*azure.RequestError](err); ok {
		require.NotNil(t, inner.ServiceError)
		require.NotEmpty(t, inner.RequestID)
		return failed.StatusCode, *inner.ServiceError
	}
	inner, ok := errors.AsType[*azure.ServiceError](err) // of an operation that may take long
	require.True(t, ok, "the client cannot read %v", err)
	return failed.StatusCode, *inner
}

// A token lets the client in. Almanac on one machine asks for none.
type token struct{}

func (token) OAuthToken() string { return "any" }

// A secretGuard sends requests, and fails the test where a secret comes back.
type secretGuard struct{ t *testing.T }

func (g secretGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if bytes.Contains(body, []byte(canary)) {
		g.t.Errorf("%s %s answers with a secret: %s", r.Method, r.URL, body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}
