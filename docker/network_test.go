package docker_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A network is a segment to which hosts are connected, in namespaces of the kernel that end with the test. Nothing
// outside reaches it, and it reaches nothing outside.
type network struct {
	t   *testing.T
	hub *host
}

// A host has addresses of its own in a network.
type host struct {
	t         *testing.T
	namespace *os.File
	links     int
}

// newNetwork returns a network. The test is skipped where it may not make one.
func newNetwork(t *testing.T) *network {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		require.Empty(t, os.Getenv("CI"), "in CI the test runs as root, with Debian's package iproute2")
		t.Skip("namespaces need root and the command ip")
	}
	n := &network{t: t, hub: newHost(t)}
	n.hub.ip("link add bridge type bridge")
	n.hub.ip("link set bridge up")
	return n
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // for good, so that the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			h.namespace, err = os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		}
		made <- err
	}()
	require.NoError(t, <-made)
	t.Cleanup(func() { h.namespace.Close() })
	h.ip("link set lo up")
	return h
}

// host returns another host, with an address for each of its interfaces, such as 10.1.0.7/24. All addresses are on the
// segment.
func (n *network) host(addresses ...string) *host {
	n.t.Helper()
	h := newHost(n.t)
	n.hub.links++
	port := fmt.Sprint("port", n.hub.links)
	n.hub.ip(fmt.Sprintf("link add %s type veth peer name eth0 netns /proc/%d/fd/%d", port, os.Getpid(), h.namespace.Fd()))
	n.hub.ip("link set " + port + " master bridge up")
	for _, a := range addresses {
		h.ip("address add " + a + " dev eth0")
	}
	h.ip("link set eth0 up")
	h.ip("route add default dev eth0")
	return h
}

// in calls do in the namespace of the host: what it starts, opens and connects is there.
func (h *host) in(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Setns(int(h.namespace.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

func (h *host) ip(command string) {
	h.t.Helper()
	require.NoError(h.t, h.in(func() error {
		out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %s", command, out)
		}
		return nil
	}))
}

// listen listens on a port of the host.
func (h *host) listen(port string) net.Listener {
	h.t.Helper()
	var l net.Listener
	require.NoError(h.t, h.in(func() (err error) {
		l, err = net.Listen("tcp4", ":"+port)
		return err
	}))
	h.t.Cleanup(func() { l.Close() })
	return l
}

// dial connects from the host to an address.
func (h *host) dial(ctx context.Context, _, address string) (c net.Conn, err error) {
	err = h.in(func() error {
		c, err = new(net.Dialer).DialContext(ctx, "tcp4", address)
		return err
	})
	return c, err
}

// serve serves HTTP on a port of the host.
func (h *host) serve(port string, handler http.HandlerFunc) {
	h.t.Helper()
	s := &http.Server{Handler: handler}
	l := h.listen(port)
	go s.Serve(l)
	h.t.Cleanup(func() { s.Close() })
}

// client returns a client that calls from the host.
func (h *host) client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DialContext: h.dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
