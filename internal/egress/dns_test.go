package egress_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A zone is a name server. Each name has one or more answers, which are lists of addresses; they are
// returned in order, and the last one is repeated.
type zone struct {
	t *testing.T

	mu      sync.Mutex
	answers map[string][]string
	asked   int
}

// resolver returns a resolver that uses the zone only.
func (z *zone) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go z.serve(theirs)
		return ours, nil
	}}
}

// serve answers queries over a stream (RFC 1035, section 4.2.2).
func (z *zone) serve(c net.Conn) {
	defer c.Close()
	for {
		var size uint16
		if binary.Read(c, binary.BigEndian, &size) != nil {
			return
		}
		question := make([]byte, size)
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		answer, err := z.answer(question)
		if err != nil {
			z.t.Error(err)
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func (z *zone) answer(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	q := m.Questions[0]
	addresses, ok := z.next(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")), q.Type)
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range addresses {
		a := netip.MustParseAddr(text)
		var body dnsmessage.ResourceBody
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			body = &dnsmessage.AResource{A: a.As4()}
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		default:
			continue
		}
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: body})
	}
	return m.Pack()
}

// next returns the addresses of a name. Each lookup has one query for IPv4 addresses; only those advance to
// the next answer.
func (z *zone) next(name string, kind dnsmessage.Type) (addresses []string, ok bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked++
	answers, ok := z.answers[name]
	if !ok {
		return nil, false
	}
	if kind == dnsmessage.TypeA && len(answers) > 1 {
		z.answers[name] = answers[1:]
	}
	return strings.Fields(answers[0]), true
}

func (z *zone) questions() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked
}
