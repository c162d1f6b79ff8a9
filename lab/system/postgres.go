package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"almanac/lab/processes"
)

// startTime is how long the namespace may take until it is served.
const startTime = 2 * time.Minute

// A postgres is a PostgreSQL server with a directory of its own.
type postgres struct {
	process  *processes.Process
	address  string
	data     string
	programs string              // directory
	owner    *syscall.Credential // nil: the user of this process; PostgreSQL does not run as root
}

func newPostgres(data string, port int) (*postgres, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	p := &postgres{address: fmt.Sprintf("127.0.0.1:%d", port), data: data, programs: programs}
	if os.Getuid() == 0 {
		if p.owner, err = credential("postgres"); err != nil {
			return nil, err
		}
	}
	p.process = &processes.Process{
		// it accepts and refuses some before
		Name: "postgres", Address: p.address, User: p.owner, Says: "database system is ready to accept connections",
		Command: []string{
			filepath.Join(programs, "postgres"), "-D", data, "-p", strconv.Itoa(port),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", "max_connections=300", "-c", "shared_buffers=256MB",
		},
	}
	return p, nil
}

// postgresPrograms returns the directory of PostgreSQL's programs, which Debian does not
// have on the path.
func postgresPrograms() (string, error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(found), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.Join(errors.New("PostgreSQL is not installed; on Debian, install the package postgresql"),
			err)
	}
	return filepath.Dir(slices.Max(found)), nil
}

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(errUID, errGID)
}

// start creates the database, in place of an existing one, and starts the server.
func (p *postgres) start(ctx context.Context) error {
	if err := errors.Join(os.RemoveAll(p.data), os.MkdirAll(p.data, 0o700)); err != nil {
		return err
	}
	if p.owner != nil {
		// the owner must be able to enter it
		err := errors.Join(os.Chown(p.data, int(p.owner.Uid), int(p.owner.Gid)), os.Chmod(filepath.Dir(p.data), 0o755))
		if err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.programs, "initdb"), "-D", p.data, "-U", "temporal", "-A",
		"trust", "-E", "UTF8", "--locale=C")
	cmd.Dir = p.data // initdb returns to its working directory
	if p.owner != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("create the database: %w\n%s", err, text)
	}
	if err := p.process.Start(); err != nil {
		return err
	}
	return p.process.Await(ctx)
}

func (p *postgres) host() (host, port string) {
	host, port, _ = net.SplitHostPort(p.address) // the address is always host:port
	return host, port
}

// pause waits a moment between two attempts.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}
