package devserver

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	uiapi "github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/auth"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"

	"almanac/internal/web"
)

// webUI is the server of Temporal's Web UI.
type webUI struct {
	server *http.Server
}

// startUI serves the Web UI for the frontend on l, which it closes on errors and in stop.
func startUI(l net.Listener, frontend string, o Options) (*webUI, error) {
	handler, err := uiHandler(frontend, o.Namespace, o.UITLS != nil)
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("start the Temporal Web UI: %w", err)
	}
	if o.UIGuard != nil {
		handler = o.UIGuard(handler)
	}
	u := &webUI{web.NewServer(o.UIHosts.Check(handler))}
	go func() { _ = web.Serve(u.server, l, o.UITLS, o.Log) }() // ends in stop
	return u, nil
}

// uiHandler returns the handler of the Web UI, assembled from the parts of the library's own server. That
// server opens its own listener and answers to every host name, so any web page could act as the same site
// (see [web.Hosts]). Browsers drop secure cookies over plain HTTP.
func uiHandler(frontend, namespace string, secureCookies bool) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(&uiconfig.Config{
		TemporalGRPCAddress: frontend,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		// The page would load news from Temporal's site.
		DisableNewsFetch: true,
	})
	if err != nil {
		return nil, err
	}
	assets, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	if assets, err = fs.Sub(assets, "local"); err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure(),
		csrf.EnsureTokenCookie(secureCookies), middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, secureCookies)))
	route.SetHealthRoute(e)
	forward := headers.WithForwardHeaders([]string{auth.AuthorizationExtrasHeader, "Caller-Type"})
	if err := route.SetAPIRoutes(e, provider, []uiapi.Middleware{forward}); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, "", assets); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// its pages load what they need; no other site shows them in a frame
		w.Header().Set("Content-Security-Policy", "frame-ancestors 'self'")
		w.Header().Del("Cache-Control") // its files are cached
		e.ServeHTTP(w, r)
	}), nil
}

func (u *webUI) stop() { _ = u.server.Close() }
