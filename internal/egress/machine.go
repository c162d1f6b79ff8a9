package egress

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// ownAge is the maximum age of the list of this machine's addresses. Reading it takes system calls, and
// herds of jobs connect in the same second.
const ownAge = 5 * time.Second

// A machine holds the addresses of this machine's network interfaces, at most [ownAge] old. It is safe for
// concurrent use. The zero value is ready to use.
type machine struct {
	addresses func() ([]net.Addr, error) // nil means net.InterfaceAddrs

	mu   sync.Mutex
	own  map[netip.Addr]bool
	read time.Time
}

// has reports whether a plain address belongs to this machine. If the addresses cannot be read, the last
// ones that could be read count.
func (m *machine) has(a netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.own == nil || now.Sub(m.read) > ownAge {
		m.refresh()
		m.read = now
	}
	return m.own[a]
}

// refresh reads the addresses. The caller holds the lock.
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
