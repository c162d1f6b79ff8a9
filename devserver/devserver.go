// Package devserver runs a Temporal cluster inside the process: all services on one SQLite file, and the
// Web UI.
//
// It is meant for one machine: a laptop, a test, or a small installation that needs durable jobs without
// operating a cluster. Every acknowledged write survives the end of the process, kill -9 included;
// [Options.Synchronous] says what survives a crash of the machine.
//
// One process at a time may use a data directory. Only the addresses in [Options] can be reached from
// outside; the services use the loopback interface among themselves. Nothing is sent to the internet.
//
// # Upgrades
//
// Temporal has no schema migrations for SQLite. A data directory therefore records its schema, and [Start]
// refuses a directory with another schema than its own.
package devserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/temporal"

	"almanac/devserver/database"
	"almanac/internal/files"
	"almanac/internal/web"
)

const (
	// DefaultNamespace is the default of Options.Namespace.
	DefaultNamespace = "default"

	// DefaultRetention is the default of Options.Retention: 60 days.
	DefaultRetention = 60 * 24 * time.Hour

	// stopTimeout is the time limit of Stop. All acknowledged writes are on disk by then, so a service that
	// hangs is abandoned.
	stopTimeout = 10 * time.Second
)

// Options configure [Start]. DataDir and Listen are required.
type Options struct {
	// DataDir is the directory of the database file, created if missing. Start restricts it and the files
	// of the database to this process's user.
	DataDir string

	// Listen is the frontend's "host:port". Port 0 picks a free port. The frontend asks for no login:
	// everyone who reaches it can read and change every workflow.
	Listen string

	// UIListen is the Web UI's "host:port"; "" means no Web UI. Port 0 picks a free port. The Web UI itself
	// asks for no login; see UIGuard.
	UIListen string

	// UIHosts are the host names that the Web UI answers to, besides addresses and localhost; nil means no
	// others.
	UIHosts *web.Hosts

	// UIGuard returns a handler that passes on the requests that may reach the Web UI; nil means all of them.
	UIGuard func(next http.Handler) http.Handler

	// UITLS is the TLS of the Web UI; nil means plain HTTP.
	UITLS *tls.Config

	// Namespace is created if missing. Default: [DefaultNamespace].
	Namespace string

	// Retention is how long closed workflows are kept, in an existing namespace too. The minimum is one
	// hour, as in Temporal. Default: [DefaultRetention].
	Retention time.Duration

	// SearchAttributes are registered in the namespace. Existing attributes are kept, named here or not; an
	// existing name with another type is an error. SQLite has columns for 10 keywords and 3 of each other
	// type.
	SearchAttributes map[string]enumspb.IndexedValueType

	// Synchronous says when a commit is complete: [SynchronousFull] or [SynchronousNormal]. Default:
	// [SynchronousFull].
	Synchronous string

	// MinFree is the number of bytes on the disk below which [Server.CheckSpace] returns an error. Default: 0.
	MinFree uint64

	// Log receives the server's warnings and errors. Default: discard.
	Log *slog.Logger
}

// A Server is a running Temporal server.
type Server struct {
	address   string
	uiAddress string
	listening []string

	temporal       temporal.Server
	ui             *webUI // nil without a Web UI
	store          *store
	stopBackground func() // nil if nothing runs in the background
	dataDir        string
	minFree        uint64
	lock           *os.File
	log            *serverLog

	stopOnce sync.Once
}

// Start runs a server on o.DataDir. It returns when the server serves the namespace, with its retention and
// search attributes. If ctx ends before, the start fails; after that, ctx has no effect.
//
// It fails at once if another process uses the directory, or if an address is taken. If another process
// takes a port after the check and before the server binds it, the Temporal server logs that and ends the
// process.
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
	s := &Server{log: newServerLog(o.Log), dataDir: o.DataDir, minFree: o.MinFree}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()

	if err := files.MakePrivate(o.DataDir, o.Log); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if s.lock, err = files.LockDir(o.DataDir); err != nil {
		return nil, err
	}
	ports, err := reservePorts(o)
	if err != nil {
		return nil, err
	}
	defer ports.releaseAll()

	file := filepath.Join(o.DataDir, database.File)
	if err := files.MakeDatabase(file, o.Log); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if s.store, err = openStore(ctx, file, o.Synchronous); err != nil {
		return nil, err
	}
	// Prepare the namespace before any service starts: each service caches namespaces, and its cache lags
	// seconds behind the database.
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
	if err := s.shrinkInBackground(o.Log); err != nil {
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

// shrinkInBackground has the database give unused space back until the server stops.
func (s *Server) shrinkInBackground(log *slog.Logger) error {
	shrinker, err := newShrinker(s.store, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { shrinker.run(ctx) })
	s.stopBackground = func() {
		cancel()
		running.Wait()
	}
	return nil
}

func (s *Server) startTemporal(cfg *config.Config) error {
	if _, err := user.Current(); err != nil { // Temporal's server asks for it, with an error of several kilobytes
		return fmt.Errorf("look up the user of this process, which is not in /etc/passwd: %w: set both $USER and "+
			"$HOME, and build with CGO_ENABLED=0", err)
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(cfg)),
		temporal.WithDynamicConfigClient(dynamicConfig),
		temporal.WithLogger(s.log),
		inOneTransaction(s.store.db),
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

// Address returns the "host:port" at which clients on this machine reach the frontend.
func (s *Server) Address() string { return s.address }

// ConnectionOptions returns options for clients on this machine: without compression, which costs more than
// it saves here.
func (s *Server) ConnectionOptions() client.ConnectionOptions {
	return client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}}
}

// UIAddress returns the "host:port" at which browsers on this machine reach the Web UI; "" without one.
func (s *Server) UIAddress() string { return s.uiAddress }

// Listening returns the "host:port" of every listener of the server, including those that only its services
// use. None of them asks for a login.
func (s *Server) Listening() []string { return slices.Clone(s.listening) }

// Stop shuts the server down and releases the data directory. It waits 10 s at most for the Temporal
// server. Calling it again has no effect.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		s.log.mute() // from here on the services report losing each other
		if s.ui != nil {
			s.ui.stop()
		}
		if s.stopBackground != nil {
			s.stopBackground()
		}
		if s.temporal != nil {
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				_ = s.temporal.Stop() // its errors are in the log
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
			_ = s.lock.Close() // closing the file releases the lock
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
		errs = append(errs, fmt.Errorf("retention: %s is too short; allowed: at least %s", o.Retention, time.Hour))
	}
	if o.Synchronous != SynchronousFull && o.Synchronous != SynchronousNormal {
		errs = append(errs, fmt.Errorf("synchronous: %q is not supported; allowed: %q or %q", o.Synchronous, SynchronousFull, SynchronousNormal))
	}
	return o, errors.Join(errs...)
}
