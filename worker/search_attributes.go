package worker

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// lostFor is how long a search attribute that the server refused is left out. Then it is tried again: it may have been
// added anew.
const lostFor = 10 * time.Minute

// lost leaves out search attributes that the namespace does not have any more. They only serve Temporal's lists, but
// the server refuses a workflow task that sets one, and that of a run which hands one over to the next: without this,
// jobs that were started with an attribute would stop for good when it is removed. The zero value is ready for use.
type lost struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// intercept leaves out what is lost. If the server refuses another attribute, it is left out from then on. The server
// has then failed the workflow task, and offers it again; or, if it had failed before, goes on to wait for it.
func (l *lost) intercept(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	completed, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	if !ok {
		return call(ctx, method, request, answer, c, o...)
	}
	l.leaveOut(completed.GetCommands(), time.Now())
	err := call(ctx, method, request, answer, c, o...)
	for l.learn(err, completed.GetCommands(), time.Now()) {
		l.leaveOut(completed.GetCommands(), time.Now())
		again := call(ctx, method, request, answer, c, o...)
		if status.Code(again) == codes.NotFound { // the task has failed
			return err
		}
		err = again
	}
	return err
}

// learn notes the attributes of commands that an error of the server names, and reports whether there are any.
func (l *lost) learn(err error, commands []*command.Command, now time.Time) (more bool) {
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "earch attribute") && !strings.Contains(err.Error(), "in SearchAttributes") {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range commands {
		for name := range attributesOf(one).GetIndexedFields() {
			if namesAttribute(err.Error(), name) {
				if l.until == nil {
					l.until = map[string]time.Time{}
				}
				l.until[name], more = now.Add(lostFor), true
				slog.Warn("the namespace lacks a search attribute, and it is left out: run `almanac setup`", "attribute", name)
			}
		}
	}
	return more
}

// namesAttribute reports whether a text has a name as a word: one name can begin with another.
func namesAttribute(text, name string) bool {
	isWord := func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !isWord(r) }), name)
}

// leaveOut removes the lost attributes from commands. A command stays, since a replay expects its event: one that is
// left without an attribute sets the versions of the workflow's code, which every namespace has and Almanac does not
// use, to none.
func (l *lost) leaveOut(commands []*command.Command, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, until := range l.until {
		if now.After(until) {
			delete(l.until, name)
		}
	}
	if len(l.until) == 0 {
		return
	}
	for _, one := range commands {
		fields := attributesOf(one).GetIndexedFields()
		before := len(fields)
		for name := range l.until {
			delete(fields, name)
		}
		if before > 0 && len(fields) == 0 && one.GetUpsertWorkflowSearchAttributesCommandAttributes() != nil {
			fields["TemporalChangeVersion"] = &common.Payload{
				Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("KeywordList")}, Data: []byte("[]"),
			}
		}
	}
}

// attributesOf returns the search attributes of a command, nil if it can have none.
func attributesOf(c *command.Command) *common.SearchAttributes {
	if upsert := c.GetUpsertWorkflowSearchAttributesCommandAttributes(); upsert != nil {
		return upsert.GetSearchAttributes()
	}
	return c.GetContinueAsNewWorkflowExecutionCommandAttributes().GetSearchAttributes()
}
