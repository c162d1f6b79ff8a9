package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A host that does not answer has so many requests of a worker at once, and no more. Its
// other jobs wait without a place in the worker, and jobs of other hosts are not late.
func TestJobsOfASilentHostDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	const slots, perHost, jobsOfSilent = 10, 3, 25
	s := newStack(t, setup{data: t.TempDir(), slots: slots, perHost: perHost})
	var open, most atomic.Int32
	answers := make(chan struct{})
	answer := sync.OnceFunc(func() { close(answers) })
	silent := newSink(t, func(http.ResponseWriter, *http.Request) {
		for n := open.Add(1); ; {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		<-answers
		open.Add(-1)
	})
	t.Cleanup(answer) // else it could not be closed
	other := newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	const once = `,"retryPolicy":{"retryType":"none"}`
	create := func(name, host string) {
		created(t, jobs+"/"+name, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+host+"/"+name+`"}`+once+`}}}`)
	}
	for i := range jobsOfSilent {
		create(fmt.Sprintf("silent%d", i), silent.URL)
	}
	eventually(t, "silent host with all the requests it may have", func() bool { return open.Load() >= perHost })
	for i := range 5 {
		create(fmt.Sprintf("other%d", i), other.URL)
	}
	for i := range 5 { // far less than the minute after which a request to the silent host times out
		other.await(t, fmt.Sprintf("/other%d", i), 1)
	}
	require.EqualValues(t, perHost, most.Load())

	answer()
	for i := range jobsOfSilent {
		name := fmt.Sprintf("silent%d", i)
		silent.await(t, "/"+name, 1)
		status(t, jobs+"/"+name, "properties.state", "completed")
		require.Len(t, silent.got("/"+name), 1, "its job allows one attempt")
		history := call(t, http.MethodGet, jobs+"/"+name+"/history", "")
		require.Equal(t, 1, history.count("value"), "to wait is no attempt: %s", history.body)
	}
	require.EqualValues(t, perHost, most.Load())
}
