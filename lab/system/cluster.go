package system

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"almanac/internal/freeport"
	"almanac/lab/processes"
)

// Settings select the dynamic configuration of the cluster.
type Settings string

// The settings.
const (
	Recommended Settings = "recommended" // those of docs/tuning.md
	Defaults    Settings = "defaults"    // Temporal's own
)

// shards is the number of history shards, of all history hosts together.
const shards = 512

// retention is how long closed workflows are kept.
const retention = 3 * 24 * time.Hour

// namespace is where Almanac's workflows are.
const namespace = "default"

// A cluster is Temporal as in production: PostgreSQL, and each of Temporal's services as a process of its own. It needs
// the programs of PostgreSQL (Debian's package postgresql).
type cluster struct {
	address  string               // of the frontend
	services []*processes.Process // history1, history2, matching, frontend, worker

	dir      string
	postgres *postgres
	sqlTool  string
}

//go:embed temporal.yaml.tmpl
var configuration string

//go:embed recommended.yaml
var recommended []byte

// services are Temporal's services, in the order in which they are started.
var services = []struct{ name, service string }{
	{"history1", "history"}, {"history2", "history"}, {"matching", "matching"}, {"frontend", "frontend"},
	{"worker", "worker"},
}

// newCluster builds Temporal's programs, which takes minutes the first time, and prepares all processes. dir is an
// empty directory for the cluster alone.
func newCluster(ctx context.Context, dir string, settings Settings) (*cluster, error) {
	programs := filepath.Join(dir, "bin")
	if err := buildTemporal(ctx, programs); err != nil {
		return nil, err
	}
	dynamic := filepath.Join(dir, "dynamic.yaml")
	text := recommended
	if settings == Defaults {
		text = nil
	}
	if err := os.WriteFile(dynamic, text, 0o644); err != nil {
		return nil, err
	}
	ports, err := freeport.Take(1 + 2*len(services))
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, sqlTool: filepath.Join(programs, "sql")}
	if c.postgres, err = newPostgres(filepath.Join(dir, "postgres"), ports[0]); err != nil {
		return nil, err
	}
	return c, c.configure(dynamic, ports[1:], filepath.Join(programs, "server"))
}

// servicePorts are the ports that a service listens on.
type servicePorts struct{ GRPC, Membership int }

// configure writes the configuration of each process. It has the ports of all services; of
// a service with several processes, those of this process.
func (c *cluster) configure(dynamic string, ports []int, server string) error {
	all := map[string]servicePorts{}
	own := make([]servicePorts, len(services))
	for i, s := range services {
		own[i] = servicePorts{ports[2*i], ports[2*i+1]}
		all[s.service] = own[i]
	}
	c.address = fmt.Sprintf("127.0.0.1:%d", all["frontend"].GRPC)
	tmpl := template.Must(template.New("").Parse(configuration))
	for i, s := range services {
		file := filepath.Join(c.dir, s.name+".yaml")
		all[s.service] = own[i]
		var config bytes.Buffer
		if err := tmpl.Execute(&config, map[string]any{
			"Services": all, "Shards": shards, "Postgres": c.postgres.address, "Frontend": c.address,
			"Dynamic": dynamic,
		}); err != nil {
			return err
		}
		if err := os.WriteFile(file, config.Bytes(), 0o644); err != nil {
			return err
		}
		c.services = append(c.services, &processes.Process{
			Name: s.name, Address: fmt.Sprintf("127.0.0.1:%d", own[i].GRPC),
			Command: []string{server, "--config-file", file, "--allow-no-auth", "start", "--service", s.service},
		})
	}
	return nil
}

// start creates the database and starts all processes. It returns when the frontend serves
// the namespace. It may be called once.
func (c *cluster) start(ctx context.Context) error {
	if err := c.postgres.start(ctx); err != nil {
		return err
	}
	for _, schema := range []struct{ database, name string }{
		{"temporal", "postgresql/v12/temporal"}, {"temporal_visibility", "postgresql/v12/visibility"},
	} {
		for _, args := range [][]string{
			{"create-database"}, {"setup-schema", "-v", "0.0"}, {"update-schema", "--schema-name", schema.name},
		} {
			if err := c.sql(ctx, schema.database, args...); err != nil {
				return err
			}
		}
	}
	for i, p := range c.services {
		if err := p.Start(); err != nil {
			return err
		}
		if i == 0 { // otherwise they would race to write the cluster's metadata
			if err := p.Await(ctx); err != nil {
				return err
			}
		}
	}
	return c.createNamespace(ctx)
}

// sql runs Temporal's tool for SQL schemas.
func (c *cluster) sql(ctx context.Context, database string, args ...string) error {
	host, port := c.postgres.host()
	cmd := exec.CommandContext(ctx, c.sqlTool, append([]string{
		"--plugin", "postgres12", "--endpoint", host, "--port", port, "--user", "temporal", "--password", "unused",
		"--database", database,
	}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s of database %s: %w\n%s", args[0], database, err, text)
	}
	return nil
}

// createNamespace creates the namespace as soon as the frontend is ready.
func (c *cluster) createNamespace(ctx context.Context) error {
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: c.address})
	if err != nil {
		return err
	}
	defer namespaces.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := namespaces.Register(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(retention),
		})
		if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); err == nil || exists {
			return c.awaitNamespace(ctx)
		}
		if pause(ctx) != nil {
			return fmt.Errorf("create namespace %q: %w", namespace, err)
		}
	}
}

// awaitNamespace waits until all services serve the namespace, which takes some seconds.
func (c *cluster) awaitNamespace(ctx context.Context) error {
	temporal, err := client.NewLazyClient(client.Options{HostPort: c.address, Namespace: namespace})
	if err != nil {
		return err
	}
	defer temporal.Close()
	for {
		_, err := temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{})
		if err == nil {
			return nil
		}
		if pause(ctx) != nil {
			return fmt.Errorf("wait for namespace %q: %w", namespace, err)
		}
	}
}
