package emulators

import (
	"context"
	"net"
	"testing"
)

// Pipes is a network without delays, and a [net.Listener] in it. Accept returns the other
// ends of the connections that Dial returned. Dial fails after Close: a transport may
// still dial for a request that got another connection meanwhile.
type Pipes struct {
	dialled chan net.Conn
	closed  context.Context
	close   context.CancelFunc
}

// NewPipes returns a network that is closed when the test ends.
func NewPipes(t testing.TB) *Pipes {
	p := &Pipes{dialled: make(chan net.Conn)}
	p.closed, p.close = context.WithCancel(t.Context())
	return p
}

// Dial connects to the next call of Accept.
func (p *Pipes) Dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialled <- theirs:
		return ours, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

// Accept implements [net.Listener].
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

// Addr implements [net.Listener].
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{} }

// Close implements [net.Listener].
func (p *Pipes) Close() error {
	p.close()
	return nil
}
