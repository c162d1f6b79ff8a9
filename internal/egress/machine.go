package egress

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// ownAge is how old the list of this machine's addresses may be: to read it
// takes system calls, and herds of jobs connect in the same second.
const ownAge = 5 * time.Second

// A machine knows the addresses of its network interfaces, as they were at most
// [ownAge] ago. It is safe for concurrent use, and the zero value is ready.
type machine struct {
	addresses func() ([]net.Addr, error) // nil means net.InterfaceAddrs

	mu   sync.Mutex
	own  map[netip.Addr]bool
	read time.Time
}

// has reports whether a plain address is one of the machine's own. Where the
// system does not say which they are, those of the last time count.
func (m *machine) has(a netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.own == nil || now.Sub(m.read) > ownAge {
		m.refresh()
		m.read = now
	}
	return m.own[a]
}

// refresh reads the addresses. The lock is held.
func (m *machine) refresh() {
	read := m.addresses
	if read == nil {
		read = net.InterfaceAddrs
	}
	found, err := read()
	if err != nil {
		return
	}
	m.own = make(map[netip.Addr]bool, len(found))
	for _, f := range found {
		if network, ok := f.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(network.IP); ok {
				m.own[plain(a)] = true
			}
		}
	}
}
