package system

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// A Proxy forwards connections to Temporal. It can delay traffic, stop it silently, or close the connections.
type Proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	delay time.Duration
	cut   bool
	open  chan struct{} // nil: traffic passes; otherwise it is closed when traffic passes again
}

func newProxy(listen, to string) (*Proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", listen)
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, to: to, conns: map[net.Conn]struct{}{}}
	go p.serve()
	return p, nil
}

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // the proxy was closed
		}
		go p.forward(c)
	}
}

// forward forwards one connection, both ways, until either end closes it.
func (p *Proxy) forward(c net.Conn) {
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

// A chunk is the result of one read, and the time from when on it may be written.
type chunk struct {
	text []byte
	at   time.Time
}

// maxChunks is how many chunks may wait in one direction of a connection.
const maxChunks = 256

// copy copies until an error. Each chunk is delayed by itself, so that a delay does not lower the throughput.
func (p *Proxy) copy(to io.Writer, from io.Reader) {
	chunks := make(chan chunk, maxChunks)
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				chunks <- chunk{buffer[:n], time.Now().Add(p.latency())}
			}
			if err != nil {
				return
			}
		}
	}()
	failed := false
	for one := range chunks { // after a failure too, so that the reader can end
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

// latency returns the delay of a chunk.
func (p *Proxy) latency() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

// wait waits until traffic may pass.
func (p *Proxy) wait() {
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	if open != nil {
		<-open
	}
}

func (p *Proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// Slow delays all traffic, in each direction; 0 ends that.
func (p *Proxy) Slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// Blackhole stops all traffic while connections stay open, or lets it pass again.
func (p *Proxy) Blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on && p.open == nil:
		p.open = make(chan struct{})
	case !on && p.open != nil:
		close(p.open)
		p.open = nil
	}
}

// Cut closes all connections and refuses new ones, or accepts new ones again.
func (p *Proxy) Cut(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = on
	if on {
		for c := range p.conns {
			_ = c.Close()
		}
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.Blackhole(false)
	p.Cut(true)
}
