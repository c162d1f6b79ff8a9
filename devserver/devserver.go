// Package devserver runs a whole Temporal cluster inside the process: all of
// its services on one SQLite file, and its Web UI.
//
// It is meant for one machine: a laptop, a test, or a small installation that
// wants durable jobs without operating a cluster. Everything acknowledged
// survives the death of the process, kill -9 included; see
// [Options.Synchronous] for what survives the death of the machine.
//
// One process at a time may use a data directory. Only the addresses that
// [Options] names are reachable from outside; what the services say to each
// other stays on the loopback interface. Nothing is sent to the internet.
//
// # Upgrades
//
// Temporal has no schema migrations for SQLite. A data directory therefore
// remembers the schema it was made with, and [Start] refuses one whose schema
// differs from the one it knows.
package devserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/temporal"

	"almanac/internal/web"
)

const (
	// DefaultNamespace is the namespace used when [Options] names none.
	DefaultNamespace = "default"

	// DefaultRetention is how long closed workflows are kept when [Options]
	// does not say.
	DefaultRetention = 60 * 24 * time.Hour

	// stopTimeout bounds Stop. Everything acknowledged is on disk already, so
	// a service that hangs is abandoned rather than waited for.
	stopTimeout = 10 * time.Second
)

// Options configure [Start]. DataDir and Listen are required.
type Options struct {
	// DataDir is the directory of the database file, created if missing. Only
	// this process's user may read it, and the files of the database, from then on.
	DataDir string

	// Listen is the frontend's "host:port". Port 0 picks a free one. Whoever
	// reaches it can read and change every workflow: it asks for no login.
	Listen string

	// UIListen is the Web UI's "host:port", or "" for no Web UI. Port 0 picks
	// a free one. It asks for no login either.
	UIListen string

	// UIHosts are the names by which the Web UI may be called, besides addresses
	// and localhost; nil for none.
	UIHosts *web.Hosts

	// Namespace is created if missing. Default: [DefaultNamespace].
	Namespace string

	// Retention is how long closed workflows are kept. It applies to an
	// existing namespace too. At least an hour, which is Temporal's own
	// minimum. Default: [DefaultRetention].
	Retention time.Duration

	// SearchAttributes are registered in the namespace. Attributes that exist
	// already are kept, whether named here or not; naming one with another
	// type is an error. SQLite has room for 10 keywords and 3 of each other
	// type.
	SearchAttributes map[string]enumspb.IndexedValueType

	// Synchronous says when a commit counts as done: [SynchronousFull] or
	// [SynchronousNormal]. Default: [SynchronousFull].
	Synchronous string

	// Log receives the server's own warnings and errors. Default: discard.
	Log *slog.Logger
}

// Server is a running Temporal server.
type Server struct {
	address   string
	uiAddress string
	listening []string

	temporal temporal.Server
	ui       *webUI // nil if there is none
	store    *store
	lock     *os.File
	log      *serverLog

	stopOnce sync.Once
}

// Start runs a server on o.DataDir. It returns when the server serves the
// namespace, with its retention and its search attributes in force. Cancelling
// ctx gives up on a start under way; it does not stop a started server.
//
// It fails at once when another process uses the directory, and when a chosen
// address is taken. Should the process lose a port to another one between the
// check and its use, the Temporal server logs it and ends the process.
func Start(ctx context.Context, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("devserver: %w", err)
	}
	s, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("devserver: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{log: newServerLog(o.Log)}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()

	if err := privateDir(o.DataDir, o.Log); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if s.lock, err = lockDir(o.DataDir); err != nil {
		return nil, err
	}
	ports, err := reservePorts(o)
	if err != nil {
		return nil, err
	}
	defer ports.releaseAll()

	database := filepath.Join(o.DataDir, databaseFile)
	if err := privateFiles(database, o.Log); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if s.store, err = openStore(database, o.Synchronous); err != nil {
		return nil, err
	}
	// The namespace is brought into shape before any service has read it:
	// each keeps its own cache of namespaces, seconds behind the database.
	if err := s.store.applyNamespace(ctx, o); err != nil {
		return nil, err
	}

	s.address = dialable(ports.frontend)
	s.listening = ports.all()
	ports.release(ports.frontend, ports.history, ports.matching, ports.worker)
	if err := s.startTemporal(serverConfig(ports, s.store.config)); err != nil {
		return nil, err
	}
	if err := waitReady(ctx, s.address, o.Namespace); err != nil {
		return nil, err
	}
	if ports.ui != nil {
		s.uiAddress = dialable(ports.ui)
		if s.ui, err = startUI(ports.take(ports.ui), s.address, o); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Server) startTemporal(cfg *config.Config) error {
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(cfg)),
		temporal.WithDynamicConfigClient(dynamicConfig),
		temporal.WithLogger(s.log),
	)
	if err != nil {
		return fmt.Errorf("create the Temporal server: %w", err)
	}
	s.temporal = server
	if err := server.Start(); err != nil {
		return fmt.Errorf("start the Temporal server: %w", err)
	}
	return nil
}

// Address returns the "host:port" at which clients on this machine reach the
// frontend.
func (s *Server) Address() string { return s.address }

// ConnectionOptions returns what suits clients on this machine: to compress what
// they send would cost more than it saves.
func (s *Server) ConnectionOptions() client.ConnectionOptions {
	return client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}}
}

// UIAddress returns the "host:port" at which browsers on this machine reach
// the Web UI, or "" if there is none.
func (s *Server) UIAddress() string { return s.uiAddress }

// Listening returns every "host:port" that the server listens on, those of
// services that only talk to each other included. None of them asks for a login.
func (s *Server) Listening() []string { return slices.Clone(s.listening) }

// Stop shuts the server down and frees the data directory for another process.
// It returns within seconds, even if a service hangs. Stopping twice is fine.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		s.log.mute() // services losing each other is no news from here on
		if s.ui != nil {
			s.ui.stop()
		}
		if s.temporal != nil {
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				_ = s.temporal.Stop() // its failures went to the log
			}()
			select {
			case <-stopped:
			case <-time.After(stopTimeout):
			}
		}
		if s.store != nil {
			s.store.close()
		}
		if s.lock != nil {
			_ = s.lock.Close() // the lock goes with the file
		}
	})
}

func (o Options) withDefaults() (Options, error) {
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.Synchronous = cmp.Or(o.Synchronous, SynchronousFull)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))

	var errs []error
	if o.DataDir == "" {
		errs = append(errs, errors.New("no data directory given"))
	}
	if o.Listen == "" {
		errs = append(errs, errors.New("no address to listen on given"))
	}
	if o.Retention < time.Hour {
		errs = append(errs, fmt.Errorf("retention is %s, want at least %s", o.Retention, time.Hour))
	}
	if o.Synchronous != SynchronousFull && o.Synchronous != SynchronousNormal {
		errs = append(errs, fmt.Errorf("synchronous is %q, want %q or %q", o.Synchronous, SynchronousFull, SynchronousNormal))
	}
	return o, errors.Join(errs...)
}
