package emulators_test

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

	"almanac/internal/emulators"
)

func TestInstallingAtTheSameTimeInstallsOnce(t *testing.T) {
	t.Parallel()
	want := emulators.Modules(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got, err := emulators.Install(t.Context()); err != nil || got != want {
				t.Errorf("Install() = %q, %v; want %q", got, err, want)
			}
		})
	}
	group.Wait()
	require.DirExists(t, want+"/node_modules/azurite")
	require.DirExists(t, want+"/node_modules/rhea")
}

// A recorder is what a function makes of the test that it is called by.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (*recorder) Helper() {}

func (v *recorder) Skipf(format string, args ...any) {
	v.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (v *recorder) Fatalf(format string, args ...any) {
	v.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestWithoutNodeATestIsSkippedOrInCIFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	modules := func() *recorder {
		v := &recorder{TB: t}
		var group sync.WaitGroup
		group.Go(func() { emulators.Modules(v) })
		group.Wait()
		return v
	}
	t.Setenv("CI", "")
	v := modules()
	require.Equal(t, "node is not installed: the tests with emulators of Azure are skipped; they need Node 20 or later, with npm", v.skipped)
	require.Empty(t, v.failed)
	t.Setenv("CI", "true")
	v = modules()
	require.Equal(t, "CI needs Node 20 or later, with npm: node is not installed, and the tests with emulators of Azure must run there", v.failed)
	require.Empty(t, v.skipped)
}

func TestAzuriteKeepsMessages(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *emulators.Azurite{"http": emulators.StartAzurite, "https": emulators.StartSecureAzurite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := start(t).NewQueue(t, "orders")
			_, err := queue.EnqueueMessage(t.Context(), "hello", nil)
			require.NoError(t, err)
			require.Equal(t, []string{"hello"}, emulators.Messages(t, queue))
			require.Empty(t, emulators.Messages(t, queue))
		})
	}
}

func TestAzuriteRestartsEmptyAtItsAddress(t *testing.T) {
	t.Parallel()
	a := emulators.StartAzurite(t)
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
	modules := emulators.Modules(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var log strings.Builder
	_, err = emulators.RunAzurite(t.Context(), modules, emulators.AzuriteOptions{Port: l.Addr().(*net.TCPAddr).Port, Log: &log})
	require.ErrorContains(t, err, "start Azurite: a Node program ended")
	require.Contains(t, log.String(), "EADDRINUSE")
}

// starter is set in a process that starts Azurite, says where it is, and waits
// to be killed.
const starter = "ALMANAC_PEERS_STARTER"

func TestAnEmulatorEndsWhenItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(starter) != "" {
		fmt.Println("address", emulators.StartAzurite(t).Address)
		select {}
	}
	emulators.Modules(t)
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
