package notifier

import (
	"container/heap"
	"time"
)

// A queue holds the channels for which no activity makes an attempt, by when they have something to do.
type queue struct {
	byTime  byTime
	created int // channels so far
}

// place puts a channel where it belongs now.
func (q *queue) place(c *Channel) {
	switch queued := c.index < len(q.byTime) && q.byTime[c.index] == c; {
	case c.flying && queued:
		heap.Remove(&q.byTime, c.index)
	case c.flying:
	case queued:
		c.due = c.wakes()
		heap.Fix(&q.byTime, c.index)
	default:
		c.due = c.wakes()
		heap.Push(&q.byTime, c)
	}
}

// remove takes a channel out.
func (q *queue) remove(c *Channel) { heap.Remove(&q.byTime, c.index) }

// next returns the channel that has something to do first, and when; nil for none.
func (q *queue) next() (*Channel, time.Time) {
	if len(q.byTime) == 0 {
		return nil, time.Time{}
	}
	return q.byTime[0], q.byTime[0].due
}

// byTime is a heap of channels. Of channels with the same time, the one that was created first is first.
type byTime []*Channel

func (h byTime) Len() int { return len(h) }

func (h byTime) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].number < h[j].number
	}
	return h[i].due.Before(h[j].due)
}

func (h byTime) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements [heap.Interface].
func (h *byTime) Push(x any) {
	c, _ := x.(*Channel)
	c.index = len(*h)
	*h = append(*h, c)
}

// Pop implements [heap.Interface].
func (h *byTime) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
