// Package devserver takes the place of the package of that name in the temporal
// CLI, so that it can be built without the Temporal server, which takes minutes.
package devserver

import (
	"errors"
	"log/slog"
)

// StartOptions has the fields that the CLI sets.
type StartOptions struct {
	FrontendIP, UIIP, UIAssetPath, UICodecEndpoint, PublicPath                  string
	DatabaseFile, ClusterID, MasterClusterName, CurrentClusterName              string
	FrontendPort, FrontendHTTPPort, UIPort, MetricsPort, InitialFailoverVersion int

	Namespaces          []string
	Logger              *slog.Logger
	LogLevel            slog.Level
	SqlitePragmas       map[string]string
	DynamicConfigValues map[string]any
	SearchAttributes    any
	LogConfig           func([]byte)
}

// A Server is never started.
type Server struct{}

// Start fails.
func Start(StartOptions) (*Server, error) { return nil, errors.New("there is no server in this build") }

// Stop does nothing.
func (*Server) Stop() {}
