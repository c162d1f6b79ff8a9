// Package freeport finds ports for tests and experiments that start a process on a known address.
package freeport

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
)

// ports has the first port that [Take] has not tried.
var ports = struct {
	mu   sync.Mutex
	next int
}{next: 20000 + os.Getpid()%5000*2}

const maxPort = 32000

// Take returns n free ports of the loopback interface, none of them twice. They are below those that the kernel gives
// to connections, so that no connection takes one while its process is down.
func Take(n int) ([]int, error) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	var free []int
	for ; ports.next < maxPort && len(free) < n; ports.next++ {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", ports.next))
		if err != nil {
			continue
		}
		free = append(free, ports.next)
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	if len(free) < n {
		return nil, fmt.Errorf("%d of %d ports below %d are free", len(free), n, maxPort)
	}
	return free, nil
}

// Address returns an address of the loopback interface with a free port.
func Address() (string, error) {
	free, err := Take(1)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", free[0]), nil
}
