package devserver

import (
	"context"
	"net"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// webUI is Temporal's Web UI.
type webUI struct {
	server *uiserver.Server
}

// startUI serves the Web UI for the frontend on address, and returns once it
// answers.
func startUI(ctx context.Context, address *net.TCPAddr, frontend, namespace string) (*webUI, error) {
	ui := &webUI{server: uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		TemporalGRPCAddress: frontend,
		Host:                uiHost(address.IP),
		Port:                address.Port,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		// The page would load news from Temporal's site.
		DisableNewsFetch: true,
		// It is served over plain HTTP, where browsers drop secure cookies.
		CORS:     uiconfig.CORS{CookieInsecure: true},
		HideLogs: true,
	}))}
	go func() { _ = ui.server.Start() }() // returns nil, after Stop

	if err := waitServing(ctx, "http://"+dialable(address)+"/healthz"); err != nil {
		ui.stop()
		return nil, err
	}
	return ui, nil
}

// uiHost writes ip as the UI server wants it: it appends ":port" itself.
func uiHost(ip net.IP) string {
	if ip.To4() == nil {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}

func (ui *webUI) stop() { ui.server.Stop() }
