//go:build linux

package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// A proxy passes connections on to Temporal. It can delay what passes, let
// nothing pass while connections stay open, or close them.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	delay time.Duration
	cut   bool
	free  chan struct{} // closed when the hole ends
}

func newProxy(listen, to string) (*proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", listen)
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, to: to, conns: map[net.Conn]struct{}{}}
	go p.serve()
	return p, nil
}

func (p *proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // it was closed
		}
		go p.pass(c)
	}
}

// pass passes one connection on, both ways, until either end closes it.
func (p *proxy) pass(c net.Conn) {
	defer c.Close()
	if !p.add(c) {
		return
	}
	defer p.remove(c)
	p.wait()
	up, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	if !p.add(up) {
		return
	}
	defer p.remove(up)
	done := make(chan struct{}, 2)
	for _, d := range [][2]net.Conn{{up, c}, {c, up}} {
		go func() {
			p.copy(d[0], d[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// A piece is what was read at once, and when it may be written.
type piece struct {
	text []byte
	at   time.Time
}

// maxPieces is how many pieces may wait in one direction of a connection.
const maxPieces = 256

// copy copies what comes until an error. A delay is one of each piece, and not of
// all that follow it.
func (p *proxy) copy(to io.Writer, from io.Reader) {
	pieces := make(chan piece, maxPieces)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				pieces <- piece{buffer[:n], time.Now().Add(p.latency())}
			}
			if err != nil {
				return
			}
		}
	}()
	failed := false
	for one := range pieces { // to the end, so that the reader ends as well
		if failed {
			continue
		}
		time.Sleep(time.Until(one.at))
		p.wait()
		_, err := to.Write(one.text)
		failed = err != nil
		if c, ok := from.(io.Closer); ok && failed {
			_ = c.Close()
		}
	}
}

// latency returns how much later a piece is to be written.
func (p *proxy) latency() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

// wait waits until anything may pass.
func (p *proxy) wait() {
	p.mu.Lock()
	hole := p.free
	p.mu.Unlock()
	if hole != nil {
		<-hole
	}
}

func (p *proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// slow delays everything that passes by some time; 0 ends that.
func (p *proxy) slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// blackhole lets nothing pass, or again all.
func (p *proxy) blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on && p.free == nil:
		p.free = make(chan struct{})
	case !on && p.free != nil:
		close(p.free)
		p.free = nil
	}
}

// sever closes all connections and refuses new ones, or accepts them again.
func (p *proxy) sever(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = on
	if on {
		for c := range p.conns {
			_ = c.Close()
		}
	}
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.blackhole(false)
	p.sever(true)
}
