package core

import (
	"sync"
	"time"
)

// A Cache holds answers of workflows, up to a total size. The zero value is empty.
type Cache[T any] struct {
	mu      sync.Mutex
	answers map[string]cached[T] // by query and workflow ID
	size    int                  // of all answers
}

type cached[T any] struct {
	answer T
	size   int
	at     time.Time // when the workflow answered
}

// Get returns the answer of a workflow, unless it is older than maxAge.
func (c *Cache[T]) Get(id string, maxAge time.Duration) (answer T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.answers[id]
	if !ok || time.Since(found.at) >= maxAge {
		return answer, false
	}
	return found.answer, true
}

// Put caches an answer. Others make room for it if all together would be larger than maxSize.
func (c *Cache[T]) Put(id string, answer T, size, maxSize int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(id)
	if size > maxSize {
		return
	}
	for other := range c.answers {
		if c.size+size <= maxSize {
			break
		}
		c.remove(other)
	}
	if c.answers == nil {
		c.answers = map[string]cached[T]{}
	}
	c.answers[id] = cached[T]{answer: answer, size: size, at: time.Now()}
	c.size += size
}

// Forget removes the answer of a workflow.
func (c *Cache[T]) Forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(id)
}

// remove is Forget for a caller that holds mu.
func (c *Cache[T]) remove(id string) {
	c.size -= c.answers[id].size
	delete(c.answers, id)
}
