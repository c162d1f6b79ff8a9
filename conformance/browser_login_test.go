package conformance_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// guarded starts a server that asks for a login, and returns a token of an owner.
func guarded(t *testing.T) (base, token string) {
	t.Helper()
	binary, err := build()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	out, err := exec.CommandContext(t.Context(), binary, "token", "create", "--name", "me", "--role", "owner", "--token-file", file).Output()
	require.NoError(t, err)
	n := startNode(t, "--ui-listen", "", "--token-file", file)
	return n.addresses["API"], strings.TrimSpace(string(out))
}

func TestTheDocumentationPageIsTriedOutAfterALoginAndNotAfterALogout(t *testing.T) {
	t.Parallel()
	base, token := guarded(t)
	ctx := browse(t)
	const block = "#operations-Job_collections-JobCollections_ListByResourceGroup"
	try := func() (status string) {
		do(ctx, t, chromedp.Navigate(base+"/docs"), chromedp.Click(chromedp.CSS(block+" .opblock-summary-control")),
			chromedp.Click(chromedp.CSS(block+" .try-out__btn")), chromedp.Click(chromedp.CSS(block+" .execute")))
		return strings.Fields(on(ctx, t, chromedp.Text(chromedp.CSS(block+" .live-responses-table tbody .response-col_status"))))[0]
	}
	require.Equal(t, "401", try())

	do(ctx, t, chromedp.Click(chromedp.CSS("#log-in")), chromedp.WaitVisible(chromedp.CSS("#token")))
	require.Equal(t, "rgb(245, 245, 245)", on(ctx, t, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`)), "the style of the page is allowed by its policy")
	fill(ctx, t, "#token", token)
	do(ctx, t, chromedp.Click(chromedp.CSS("#login")), chromedp.WaitVisible(chromedp.CSS("#logout")))
	require.Contains(t, on(ctx, t, chromedp.Text(chromedp.CSS("#login"))), "token:me")
	require.Equal(t, base+"/docs", strings.TrimSuffix(on(ctx, t, chromedp.Location()), "#/"))
	require.Empty(t, on(ctx, t, chromedp.Evaluate[string](`document.cookie`)), "no script sees the session")
	require.Equal(t, "200", try())

	attack(t, base, func(page string) {
		do(ctx, t, chromedp.Navigate(page), chromedp.WaitVisible(chromedp.CSS("#done")))
		require.Equal(t, "refused refused", on(ctx, t, chromedp.Text(chromedp.CSS("#done"))))
		do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('form').submit()`))
		await(t, "answer to the form", func() bool {
			return strings.HasPrefix(on(ctx, t, chromedp.Location()), base)
		})
	})
	require.Equal(t, "200", try(), "the page of another site has not logged out")

	do(ctx, t, chromedp.Click(chromedp.CSS("#logout")), chromedp.WaitVisible(chromedp.CSS("#log-in")))
	require.Equal(t, "401", try())
}

// attack opens a page of another site, which sends requests with the cookies of the browser.
func attack(t *testing.T, base string, open func(page string)) {
	t.Helper()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="%[1]s/logout"></form><script>
const send = async (path, options) => {
  try {
    await fetch('%[1]s' + path, {credentials: 'include', ...options});
    return 'read';
  } catch { return 'refused'; }
};
(async () => {
  const seen = [await send('/jobCollections', {}), await send('/jobCollections/default', {method: 'DELETE'})];
  await send('/logout', {method: 'POST', mode: 'no-cors'}); // its answer cannot be read
  document.body.insertAdjacentHTML('beforeend', '<p id="done">' + seen.join(' ') + '</p>');
})();
</script>`, base)
	}))
	t.Cleanup(evil.Close)
	open(strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)) // another site than the server's
}
