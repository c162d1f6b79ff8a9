package processes_test

import (
	"bytes"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/processes"
)

// A log is what a process printed.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// shell is a process that runs a script until the test is over.
func shell(t *testing.T, script string) *processes.Process {
	t.Helper()
	p := &processes.Process{Name: "shell", Command: []string{"/bin/sh", "-c", script, "sh"}, Log: new(log)}
	t.Cleanup(p.Kill)
	return p
}

func TestAProcessIsReadyWhenItPrintsIt(t *testing.T) {
	t.Parallel()
	p := shell(t, `echo starting "$@" in "$PLACE"; sleep 0.1; echo ready now; exec sleep 1000`)
	p.Says, p.Env = "ready", []string{"PLACE=here"}
	require.NoError(t, p.Start("with", "flags"))
	require.NoError(t, p.Await(t.Context()))
	require.Equal(t, "starting with flags in here\nready now\n", p.Log.(*log).String())
	require.False(t, p.Gone())
	p.Kill()
	require.True(t, p.Gone())
	require.NoError(t, p.Start(), "again")
	require.NoError(t, p.Await(t.Context()))
}

func TestAProcessIsReadyWhenItAcceptsConnections(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p := shell(t, "exec sleep 1000")
	p.Address = l.Addr().String()
	require.NoError(t, p.Start())
	require.NoError(t, p.Await(t.Context()))
}

func TestAProcessThatEndsByItselfIsNotAwaited(t *testing.T) {
	t.Parallel()
	p := shell(t, "exit 1")
	p.Says = "ready"
	require.NoError(t, p.Start())
	require.EqualError(t, p.Await(t.Context()), "shell ended by itself; see its log")
}

func TestAProcessThatDoesNotEndInTimeIsKilled(t *testing.T) {
	t.Parallel()
	p := shell(t, `trap "" TERM; echo ready; while :; do sleep 0.1; done`)
	p.Says = "ready"
	require.NoError(t, p.Start())
	require.NoError(t, p.Await(t.Context()))
	p.Signal(syscall.SIGTERM)
	p.End(50 * time.Millisecond)
	require.True(t, p.Gone())
}

func TestEndingAProcessThatWasNeverStartedHasNoEffect(t *testing.T) {
	t.Parallel()
	p := shell(t, "")
	p.Signal(syscall.SIGTERM)
	p.End(time.Hour)
	require.Zero(t, p.PID())
	p.Command = []string{"/no/such/program"}
	require.ErrorContains(t, p.Start(), "start shell: ")
}
