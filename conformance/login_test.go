package conformance_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler" //nolint:staticcheck // retired, as is the service
	"github.com/Azure/go-autorest/autorest"
	"github.com/Azure/go-autorest/autorest/adal"
	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"
)

// A login is a way for an application to get tokens.
type login struct {
	name         string
	subscription string // in which the applications have roles
	authorizer   func(application string) autorest.Authorizer
}

// logins are those of Azure's clients for Go.
func logins(t *testing.T, l locked) []login {
	return []login{
		{"an OpenID Connect issuer, which discovery finds", l.subscriptions.Plain, func(application string) autorest.Authorizer {
			provider, err := oidc.NewProvider(oidc.ClientContext(t.Context(), l.Client()), l.plain)
			require.NoError(t, err)
			endpoint, err := url.Parse(provider.Endpoint().TokenURL)
			require.NoError(t, err)
			return bySecret(t, l, adal.OAuthConfig{AuthorityEndpoint: *endpoint, TokenEndpoint: *endpoint}, application, ownParty)
		}},
		{"Entra ID, version 1", l.subscriptions.V1, func(application string) autorest.Authorizer {
			config, err := adal.NewOAuthConfig(l.URL, tenant)
			require.NoError(t, err)
			return bySecret(t, l, *config, application, manager+"/")
		}},
		{"Entra ID, version 2", l.subscriptions.V2, func(application string) autorest.Authorizer {
			credential, err := azidentity.NewClientSecretCredential(tenant, application, secret, &azidentity.ClientSecretCredentialOptions{
				ClientOptions:            azcore.ClientOptions{Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: l.URL}, Transport: l.Client()},
				DisableInstanceDiscovery: true, // which asks Microsoft about the authority
			})
			require.NoError(t, err)
			return autorest.NewBearerAuthorizer(credentialToken{t, credential})
		}},
	}
}

// bySecret returns what logs an application in by its secret.
func bySecret(t *testing.T, l locked, config adal.OAuthConfig, application, resource string) autorest.Authorizer {
	t.Helper()
	principal, err := adal.NewServicePrincipalToken(config, application, secret, resource)
	require.NoError(t, err)
	principal.SetSender(l.Client())
	return autorest.NewBearerAuthorizer(principal)
}

// A credentialToken is the newest token of a credential of Azure's newer clients.
type credentialToken struct {
	t          *testing.T
	credential azcore.TokenCredential
}

func (c credentialToken) OAuthToken() string {
	got, err := c.credential.GetToken(context.WithoutCancel(c.t.Context()), policy.TokenRequestOptions{Scopes: []string{manager + "/.default"}})
	if err != nil {
		c.t.Errorf("get a token: %v", err)
	}
	return got.Token
}

func TestTheClientSendsTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	for _, way := range logins(t, l) {
		t.Run(way.name, func(t *testing.T) {
			as := func(application string) client {
				return newClientOf(t, l.url, way.subscription, way.authorizer(application))
			}
			mayChange(t, as("contributor"))
			mayReadOnly(t, as("reader"))
			isShownNothing(t, as("stranger"))
			isNotLetIn(t, as("late"), "The token has expired.")
			elsewhere := newClientOf(t, l.url, newSubscription(), way.authorizer("contributor"))
			_, err := elsewhere.collections.CreateOrUpdate(t.Context(), group, collection, scheduler.JobCollectionDefinition{Location: new("North Europe")})
			status, _ := serviceError(t, err)
			require.Equal(t, http.StatusNotFound, status, "the role ends with its scope")
		})
	}
	t.Run("no token", func(t *testing.T) {
		isNotLetIn(t, newClientOf(t, l.url, l.subscriptions.Plain, autorest.NullAuthorizer{}), "The request has no credential.")
	})
	t.Run("a token of nobody", func(t *testing.T) {
		isNotLetIn(t, newClientOf(t, l.url, l.subscriptions.Plain, autorest.NewBearerAuthorizer(token{})), "no credential of a kind that is accepted here")
	})
}

// mayChange does all that a contributor may, and leaves the job "kept".
func mayChange(t *testing.T, c client) {
	t.Helper()
	ctx := t.Context()
	c.create(t, scheduler.Standard)
	disabled := scheduler.JobProperties{Action: get("http://127.0.0.1/"), State: scheduler.JobStateDisabled}
	require.Equal(t, http.StatusCreated, c.put(t, "kept", disabled).StatusCode)
	require.Equal(t, http.StatusCreated, c.put(t, "job", disabled).StatusCode)
	require.Equal(t, "http://127.0.0.1/", *c.get(t, "job").Action.Request.URI)
	_, err := c.jobs.Patch(ctx, group, collection, "job", scheduler.JobDefinition{Properties: &scheduler.JobProperties{Action: get("http://127.0.0.1/other")}})
	require.NoError(t, err)
	page, err := c.jobs.List(ctx, group, collection, nil, nil, "")
	require.NoError(t, err)
	require.Len(t, page.Values(), 2)
	ran, err := c.jobs.Run(ctx, group, collection, "job")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, ran.StatusCode)
	deleted, err := c.jobs.Delete(ctx, group, collection, "job")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, deleted.StatusCode)
}

// mayReadOnly sees what mayChange left, and is told why it may not change that.
func mayReadOnly(t *testing.T, c client) {
	t.Helper()
	ctx := t.Context()
	require.Equal(t, "http://127.0.0.1/", *c.get(t, "kept").Action.Request.URI)
	page, err := c.jobs.List(ctx, group, collection, nil, nil, "")
	require.NoError(t, err)
	require.Len(t, page.Values(), 1)
	aJob := scheduler.JobDefinition{Properties: &scheduler.JobProperties{Action: get("http://127.0.0.1/")}}
	for action, call := range map[string]func() error{
		"jobs/write": func() error {
			_, err := c.jobs.CreateOrUpdate(ctx, group, collection, "kept", aJob)
			return err
		},
		"jobs/delete":     func() error { _, err := c.jobs.Delete(ctx, group, collection, "kept"); return err },
		"jobs/run/action": func() error { _, err := c.jobs.Run(ctx, group, collection, "kept"); return err },
		"delete": func() error {
			_, err := c.collections.Delete(ctx, group, collection)
			return err
		},
	} {
		status, body := serviceError(t, call())
		require.Equal(t, http.StatusForbidden, status)
		require.Equal(t, "AuthorizationFailed", body.Code)
		require.Contains(t, body.Message, "'Microsoft.Scheduler/jobCollections/"+action+"'")
		require.Contains(t, body.Message, "/subscriptions/"+c.subscription+"/resourceGroups/"+group+"/providers/Microsoft.Scheduler/jobCollections/"+collection)
		require.Contains(t, body.Message, "Its role there is reader.")
	}
}

// isShownNothing calls for an application without a role.
func isShownNothing(t *testing.T, c client) {
	t.Helper()
	_, err := c.jobs.Get(t.Context(), group, collection, "kept")
	status, body := serviceError(t, err)
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "ResourceNotFound", body.Code)
	page, err := c.collections.ListBySubscription(t.Context())
	require.NoError(t, err)
	require.Empty(t, page.Values())
}

// isNotLetIn calls with a credential that does not count.
func isNotLetIn(t *testing.T, c client, why string) {
	t.Helper()
	_, err := c.jobs.Get(t.Context(), group, collection, "kept")
	status, body := serviceError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "AuthenticationFailed", body.Code)
	require.Contains(t, body.Message, why)
}
