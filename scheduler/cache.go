package scheduler

import (
	"sync"
	"time"
)

// A cache holds answers of workflows, up to a total size. The zero value is empty.
type cache[T any] struct {
	mu      sync.Mutex
	answers map[string]cached[T] // by workflow ID
	size    int                  // of all answers
}

type cached[T any] struct {
	answer T
	size   int
	at     time.Time // when the workflow answered
}

// get returns the answer of a workflow, unless it is older than maxAge.
func (c *cache[T]) get(id string, maxAge time.Duration) (answer T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.answers[id]
	if !ok || time.Since(found.at) >= maxAge {
		return answer, false
	}
	return found.answer, true
}

// put caches an answer. Others make room for it if all together would be larger than maxSize.
func (c *cache[T]) put(id string, answer T, size, maxSize int) {
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

func (c *cache[T]) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(id)
}

// remove is forget for a caller that holds mu.
func (c *cache[T]) remove(id string) {
	c.size -= c.answers[id].size
	delete(c.answers, id)
}
