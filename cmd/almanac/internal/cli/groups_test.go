package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/internal/apitest"
)

// Whoever stores jobs by a client of Azure Scheduler has them in a subscription and a resource group of their own.
func TestJobsOfOtherResourceGroupsAreFound(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	_, problems, _ := u.types(t, "job", "list")
	require.NotContains(t, problems, "other resource groups")
	c, err := client.New(u.vars["ALMANAC_URL"], client.Options{Subscription: "11111111-2222", ResourceGroup: "my billing"})
	require.NoError(t, err)
	_, err = c.PutCollection(t.Context(), "reports", client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}}})
	require.NoError(t, err)

	const flags = "There are job collections in other resource groups:\n  --subscription 11111111-2222 --resource-group 'my billing'\n"
	_, problems, _ = u.types(t, "job", "list")
	require.Contains(t, problems, "No jobs in the job collection default\n"+flags)
	_, problems, status := u.types(t, "collection", "get", "reports")
	require.Equal(t, exit.NotFound, status)
	require.Contains(t, problems+"\n", flags)
	_, problems, _ = u.types(t, "job", "list", "--failed")
	require.NotContains(t, problems, "other resource groups", "it is what was asked for that is not there")
	require.Regexp(t, `(?m)^NAME +GROUP +SUBSCRIPTION .*\n(?s:.*)reports +my billing +11111111-2222 `, u.must(t, "collection", "list", "--all"))
	require.Equal(t, "default\n", u.must(t, "collection", "list", "-o", "name"))
	require.Equal(t, "default\nreports\n", u.must(t, "collection", "list", "--all", "-o", "name"))

	at := []string{"--subscription", "11111111-2222", "-g", "my billing", "-c", "reports"}
	u.must(t, append([]string{"job", "create", "hello", "http://example.com/", "--every", "5m", "--start", "2026-12-01"}, at...)...)
	require.Equal(t, "hello\n", u.must(t, append([]string{"job", "list", "-o", "name"}, at...)...))
	u.must(t, "context", "add", "billing", "--url", u.vars["ALMANAC_URL"], "--subscription", "11111111-2222", "-g", "my billing", "-c", "reports", "--stay")
	require.Equal(t, "hello\n", u.must(t, "job", "list", "-o", "name", "--context", "billing"))
	dir := t.TempDir()
	u.must(t, "export", "-f", dir, "reports", "--context", "billing")
	require.Contains(t, u.must(t, "plan", "-f", dir, "--context", "billing"), "No changes: 1 job as the files say.")
}
