package devserver

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
)

// A ListenError says that an address cannot be listened on.
type ListenError struct {
	Address string
	UI      bool // it is that of the Web UI, not that for Temporal's clients
	Err     error
}

func (e *ListenError) Error() string {
	what := "Temporal clients"
	if e.UI {
		what = "the Temporal Web UI"
	}
	return fmt.Sprintf("listen for %s on %s: %s", what, e.Address, e.Err)
}

// Unwrap returns Err.
func (e *ListenError) Unwrap() error { return e.Err }

// ports are the addresses of the services. Each is held by a listener until just before its service binds
// it, so that the system does not give it to another process.
type ports struct {
	frontend, history, matching, worker *net.TCPAddr
	ui                                  *net.TCPAddr // nil without a Web UI

	held map[*net.TCPAddr]net.Listener
}

func reservePorts(o Options) (_ *ports, err error) {
	p := &ports{held: make(map[*net.TCPAddr]net.Listener)}
	defer func() {
		if err != nil {
			p.releaseAll()
		}
	}()

	if p.frontend, err = p.reserve(o.Listen); err != nil {
		return nil, &ListenError{Address: o.Listen, Err: err}
	}
	if o.UIListen != "" {
		if p.ui, err = p.reserve(o.UIListen); err != nil {
			return nil, &ListenError{Address: o.UIListen, UI: true, Err: err}
		}
	}
	for _, internal := range []**net.TCPAddr{&p.history, &p.matching, &p.worker} {
		if *internal, err = p.reserve("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("find a free port on the loopback interface: %w", err)
		}
	}
	return p, nil
}

func (p *ports) reserve(address string) (*net.TCPAddr, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	a := l.Addr().(*net.TCPAddr)
	p.held[a] = l
	return a, nil
}

// all returns the host:port of each port that has not been released or taken, in no particular order. The
// host of a listener on all interfaces is [::] or 0.0.0.0.
func (p *ports) all() []string {
	var all []string
	for a := range p.held {
		all = append(all, a.String())
	}
	return all
}

// release closes the listeners, so that the services can bind the addresses.
func (p *ports) release(addresses ...*net.TCPAddr) {
	for _, a := range addresses {
		_ = p.held[a].Close()
		delete(p.held, a)
	}
}

// take returns the listener on an address. The caller has to close it.
func (p *ports) take(a *net.TCPAddr) net.Listener {
	l := p.held[a]
	delete(p.held, a)
	return l
}

func (p *ports) releaseAll() { p.release(slices.Collect(maps.Keys(p.held))...) }

// dialable returns the host:port at which this machine reaches a, with 127.0.0.1 for an address on all
// interfaces.
func dialable(a *net.TCPAddr) string {
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(a.Port))
}
