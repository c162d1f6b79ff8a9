package activities_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/job"
)

func TestAReceiverThatTakesLongToConnectToIsSentTheRequest(t *testing.T) {
	for name, takes := range map[string]time.Duration{"due already": 1100 * time.Millisecond, "held": 4 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &slowNetwork{}
				for range 500 {
					network.takes = append(network.takes, takes)
				}
				r := runner(senders.NewHTTP(senders.Options{Dial: network.dial}))
				k := task{heartbeat: time.Hour, stop: make(chan struct{})}
				in := request("http://slow.example/")
				if name == "held" {
					in.Execution.Due = time.Now().Add(2 * time.Second)
				}
				_, err := k.run(t, r, in)
				network.targets.Wait()
				require.NoError(t, err)
			})
		})
	}
}

// breaks fails the first write of the second request, before anything is written.
type breaks struct {
	net.Conn
	broken *bool
}

func (b breaks) Write(p []byte) (int, error) {
	if *b.broken {
		return 0, errors.New("broken pipe")
	}
	return b.Conn.Write(p)
}

// The first connection breaks before anything is written, and the next one takes 5 s.
func TestASecondConnectionIsHeldToTheLeaseAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken bool
		var arrived []time.Time
		dials := 0
		h := senders.NewHTTP(senders.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
			if dials++; dials > 1 {
				time.Sleep(5 * time.Second)
			}
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				br := bufio.NewReader(theirs)
				for {
					req, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					arrived = append(arrived, time.Now())
					io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			}()
			if dials == 1 {
				return breaks{ours, &broken}, nil
			}
			return ours, nil
		}})
		in := request("http://target.example/")
		in.Action.Request.Headers = job.Members{{Name: "X-Long", Value: strings.Repeat("x", 5000)}}
		_, err := h.Send(t.Context(), execution, &in.Action)
		require.NoError(t, err)
		synctest.Wait()
		broken = true
		k := task{heartbeat: time.Hour}
		_, err = k.run(t, runner(h), in)
		time.Sleep(2 * time.Minute) // connections are closed
		require.NoError(t, err)
		last := k.server.fences()[len(k.server.fences())-1]
		until := last.at.Add(time.Duration(last.Lease) * time.Millisecond)
		require.Len(t, arrived, 2)
		require.False(t, arrived[1].After(until), "it arrived %s after the lease", arrived[1].Sub(until))
	})
}

func TestAHeartbeatDoesNotEndALeaseThatIsNotUsedYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &slowNetwork{takes: []time.Duration{5 * time.Second}}
		r := runner(senders.NewHTTP(senders.Options{Dial: network.dial}))
		k := task{heartbeat: 8 * time.Second, server: &server{answer: func(n int) error {
			if n < 5 {
				time.Sleep(20 * time.Second) // leases of 1, 2, 4 and 8 s are over
			}
			return nil
		}}}
		_, err := k.run(t, r, request("http://slow.example/"))
		require.NoError(t, err)
		network.targets.Wait()
		fence := k.server.beats()[4]
		for _, b := range k.server.beats()[5:] {
			require.False(t, b.at.Before(fence.at.Add(5*time.Second)) && b.Lease == 0, "%s after the fence, whose lease is %d ms, a heartbeat says that it began; it began after 5 s",
				b.at.Sub(fence.at), fence.Lease)
		}
	})
}

// The first attempt failed and was recorded; the second was lost before its fence.
func TestAnOutcomeThatWasRecordedIsNotReportedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		r := runner(sendFunc(func(context.Context) (string, error) {
			if sent++; sent == 1 {
				return "", errors.New("refused")
			}
			return "fine", nil
		}))
		in := due(-time.Hour, 3)
		var first task
		_, err := first.run(t, r, in)
		require.Error(t, err)
		require.Len(t, first.server.handedOver(), 1, "it is recorded")
		// 30 s until the retry, then the heartbeat timeout, since the server did not answer its fence
		time.Sleep(50 * time.Second)
		in.SentBefore = 1
		attempts, err := new(task).run(t, r, in)
		require.NoError(t, err, "%s", history(attempts))
		require.Equal(t, 2, sent)
	})
}

// A heartbeat of keepAlive that is in flight when the request ends is applied after the record was kept.
func TestAHeartbeatInFlightWhenTheRequestEndsDoesNotReplaceTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var applied []activities.Progress
		k := task{heartbeat: 4 * time.Second, server: &server{}}
		k.server.answer = func(n int) error {
			p := k.server.beats()[n-1].Progress
			if n == 2 {
				time.Sleep(3 * time.Second) // the server applies it late, after the client's context has ended
			}
			applied = append(applied, p)
			return nil
		}
		r := newTimedRunner(3 * time.Second)
		r.Runner = runner(sendFunc(func(context.Context) (string, error) {
			time.Sleep(3 * time.Second)
			return "", errors.New("refused")
		}))
		_, err := k.run(t, r.Runner, due(-time.Hour, 3))
		require.Error(t, err)
		time.Sleep(10 * time.Second)
		require.Len(t, applied[len(applied)-1].Attempts, 1, "the record is lost: %+v", applied)
	})
}
