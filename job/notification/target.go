package notification

import (
	"fmt"

	"almanac/job"
	"almanac/job/kind"
)

// A Post is one request, message or mail by which a message is sent.
type Post struct {
	ID   string    // for the receiver to recognize duplicates
	Type kind.Type // whose sender sends it

	Action job.Action // if Type is a kind of action
	Mail   Mail       // if it is [kind.Mail]

	FinalStatus int // HTTP status of an answer after which the post is not repeated; 0: there is none
}

// A writer writes what is sent to one kind of target.
type writer interface {
	kind() kind.Type
	// posts returns what is sent, in its order, and count how many there are.
	posts(m *Message, t *job.Target) ([]Post, error)
	count(m *Message) int
	// addresses returns to how many addresses a message goes.
	addresses(t *job.Target) int
	// identity returns what targets have in common that get their messages together.
	identity(t *job.Target) any
	// hasIncidents reports whether the target is told of what ends, and so gets alerts by [Incidents.Add].
	hasIncidents() bool
}

// writers are those of the targets that are no actions.
var writers = [...]writer{mailWriter{}, pagerDuty{}}

var _ = [kind.Targets]writer(writers) // a target without a writer does not compile

// writerOf returns the writer of a target.
func writerOf(t *job.Target) writer {
	kind := t.Type.Kind()
	for _, w := range writers {
		if w.kind() == kind {
			return w
		}
	}
	return actionWriter{}
}

// Posts returns what is sent to a target, in this order: a request for each incident to PagerDuty, and otherwise one
// post with the id of the message.
func (m *Message) Posts(t *job.Target) ([]Post, error) { return writerOf(t).posts(m, t) }

// PostCount returns how many posts [Message.Posts] returns for a target.
func (m *Message) PostCount(t *job.Target) int { return writerOf(t).count(m) }

// HasIncidents reports whether a target is told of what ends. A message to it gets its alerts by [Incidents.Add].
func HasIncidents(t *job.Target) bool { return writerOf(t).hasIncidents() }

// Addresses returns to how many addresses a message to the targets of notifications goes: each mail address, and each
// other target.
func Addresses(list []job.Notification) (n int) {
	for i := range list {
		n += writerOf(&list[i].Target).addresses(&list[i].Target)
	}
	return n
}

// one is a writer of one post, to one address.
type one struct{}

func (one) count(*Message) int         { return 1 }
func (one) addresses(*job.Target) int  { return 1 }
func (one) identity(t *job.Target) any { return t }
func (one) hasIncidents() bool         { return false }

// An actionWriter has the message sent as an action, in the target's format.
type actionWriter struct{ one }

func (actionWriter) kind() kind.Type { return "" }

func (actionWriter) posts(m *Message, t *job.Target) ([]Post, error) {
	a := t.Action()
	sent := a.Sent()
	if sent == nil {
		return nil, fmt.Errorf("this worker sends nothing to targets of type %q", t.Type)
	}
	content, mediaType, err := m.content(t.Format)
	if err != nil {
		return nil, err
	}
	sent.Carry(content, mediaType)
	return []Post{{ID: m.ID, Type: t.Type.Kind(), Action: a}}, nil
}
