package api_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
)

// elsewhere matches references that a browser would fetch from another host.
var elsewhere = regexp.MustCompile(`(?i)(src|href|action)\s*=\s*["']?\s*(https?:)?//|url\(\s*["']?(https?:)?//|@import`)

func TestDocumentationPageNeedsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	page := send(h, http.MethodGet, "/docs", "")
	require.Equal(t, http.StatusOK, page.status)
	require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"))
	require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'self';")
	require.NotRegexp(t, elsewhere, page.body)

	links := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.body, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		got := send(h, http.MethodGet, "/"+link[1], "")
		require.Equal(t, http.StatusOK, got.status, link[1])
		require.NotEmpty(t, got.body, link[1])
		if strings.HasSuffix(link[1], ".css") {
			require.NotRegexp(t, elsewhere, got.body)
		}
	}
	setUp := send(h, http.MethodGet, "/docs/index.js", "").body
	require.Contains(t, setUp, "url: 'openapi.yaml'")
	require.Contains(t, setUp, "validatorUrl: null")
}

func TestDocumentationIsCompressedForWhoCanReadThat(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	for _, tt := range []struct{ name, accept, encoding, begins string }{
		{"plain", "", "", ".swagger-ui"},
		{"compressed", "br, gzip", "gzip", "\x1f\x8b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/docs/swagger-ui.css", nil)
			r.Header.Set("Accept-Encoding", tt.accept)
			got := serve(h, r)
			require.Equal(t, tt.encoding, got.header.Get("Content-Encoding"))
			require.Equal(t, "Accept-Encoding", got.header.Get("Vary"))
			require.True(t, strings.HasPrefix(got.body, tt.begins), "%.20q", got.body)
		})
	}
}

func TestDocumentationMovesWhereItsLinksLead(t *testing.T) {
	t.Parallel()
	got := send(api.New(&fake{}, api.Options{}), http.MethodGet, "/docs/", "")
	require.Equal(t, http.StatusPermanentRedirect, got.status)
	require.Equal(t, "../docs", got.header.Get("Location"))
}
