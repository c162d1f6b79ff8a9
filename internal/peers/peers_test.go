package peers_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/peers"
)

func TestInstallingAtTheSameTimeGivesOnePlace(t *testing.T) {
	t.Parallel()
	want := peers.Modules(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got, err := peers.Install(t.Context()); err != nil || got != want {
				t.Errorf("Install() = %q, %v; want %q", got, err, want)
			}
		})
	}
	group.Wait()
	require.DirExists(t, want+"/node_modules/azurite")
	require.DirExists(t, want+"/node_modules/rhea")
}

// A verdict is what a function makes of the test that it is called by.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (*verdict) Helper() {}

func (v *verdict) Skipf(format string, args ...any) {
	v.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestWithoutNodeATestIsSkippedOrInCIFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	modules := func() *verdict {
		v := &verdict{TB: t}
		var group sync.WaitGroup
		group.Go(func() { peers.Modules(v) })
		group.Wait()
		return v
	}
	t.Setenv("CI", "")
	v := modules()
	require.Equal(t, "node is not installed: the tests against real peers do not run; they need Node 20 or later, with npm", v.skipped)
	require.Empty(t, v.failed)
	t.Setenv("CI", "true")
	v = modules()
	require.Equal(t, "CI needs Node 20 or later, with npm: node is not installed, and the tests against real peers have to run there", v.failed)
	require.Empty(t, v.skipped)
}

func TestAzuriteKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *peers.Azurite{"http": peers.StartAzurite, "https": peers.StartSecureAzurite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := start(t).NewQueue(t, "orders")
			_, err := queue.EnqueueMessage(t.Context(), "hello", nil)
			require.NoError(t, err)
			require.Equal(t, []string{"hello"}, peers.Messages(t, queue))
			require.Empty(t, peers.Messages(t, queue))
		})
	}
}

func TestAzuriteRestartsEmptyAtItsAddress(t *testing.T) {
	t.Parallel()
	a := peers.StartAzurite(t)
	queue, address := a.NewQueue(t, "orders"), a.Address
	a.Restart(t)
	require.Equal(t, address, a.Address)
	_, err := queue.EnqueueMessage(t.Context(), "hello", nil)
	require.ErrorContains(t, err, "QueueNotFound")
	require.NoError(t, a.Stop())
	require.NoError(t, a.Stop(), "which has stopped")
}

func TestAzuriteThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	modules := peers.Modules(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var log strings.Builder
	_, err = peers.RunAzurite(t.Context(), modules, peers.AzuriteOptions{Port: l.Addr().(*net.TCPAddr).Port, Log: &log})
	require.ErrorContains(t, err, "start Azurite: a Node program ended")
	require.Contains(t, log.String(), "EADDRINUSE")
}

// starter is set in a process that starts Azurite, says where it is, and waits
// to be killed.
const starter = "ALMANAC_PEERS_STARTER"

func TestPeerEndsWithAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(starter) != "" {
		fmt.Println("address", peers.StartAzurite(t).Address)
		select {}
	}
	peers.Modules(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), starter+"=1")
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var address string
	for lines := bufio.NewScanner(output); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "address ")
	}
	require.NotEmpty(t, address)
	require.True(t, listens(address))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	require.Eventually(t, func() bool { return !listens(address) }, time.Minute, 20*time.Millisecond)
}

func listens(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	c.Close()
	return true
}
