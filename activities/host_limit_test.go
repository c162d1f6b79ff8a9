package activities_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/job"
	"almanac/job/kind"
)

// to returns an input for a host, due after the given time.
func to(host string, after time.Duration) activities.Input {
	in := due(after, 5)
	in.Action = *get("http://" + host + "/")
	return in
}

func get(uri string) *job.Action {
	return &job.Action{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{URI: uri}}}
}

func TestASilentHostHasOnlySoManyRequests(t *testing.T) {
	t.Parallel()
	const never = -1
	for _, tt := range []struct {
		name    string
		after   time.Duration // due time of the further attempt
		answers time.Duration // when the host answers
		uri     string
		sent    time.Duration // when the further attempt is sent
		ends    time.Duration // when it leaves the worker, if it is not sent
		pause   time.Duration // until the server retries it
	}{
		{"a further one is made later", 0, time.Hour, "http://silent.example/", never, 1250 * time.Millisecond, 10 * time.Second},
		{"one that is held, too", 5 * time.Second, time.Hour, "http://silent.example/", never, 6250 * time.Millisecond, 10 * time.Second},
		{"one that is overdue does not wait", -25 * time.Second, time.Hour, "http://SILENT.example/", never, 0, 25 * time.Second},
		{"one that is long overdue is made within 90 s", -time.Hour, time.Hour, "http://silent.example/other", never, 0, time.Minute},
		{"one that is held is sent in time if the host has answered by then", 5 * time.Second, 4900 * time.Millisecond, "http://silent.example/", 5 * time.Second, 0, 0},
		{"one is sent late if the host answers soon", 0, 600 * time.Millisecond, "http://silent.example/", 750 * time.Millisecond, 0, 0},
		{"another host has its own", 5 * time.Second, time.Hour, "http://other.example/", 5 * time.Second, 0, 0},
		{"and so has another port", 5 * time.Second, time.Hour, "http://silent.example:81/", 5 * time.Second, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newTimedRunner(0).Runner
				r.PerHost = 1
				start, free := time.Now(), sync.OnceFunc(r.OccupyHost(get("http://silent.example/")))
				defer free()
				time.AfterFunc(tt.answers, free)
				in := due(tt.after, 5)
				in.Action.Request = &kind.Request{URI: tt.uri}
				k := task{attempt: 2, earlier: refused()}
				attempts, err := k.run(t, r, in)
				took := time.Since(start)
				if tt.sent != never {
					require.NoError(t, err)
					require.Len(t, attempts, 2)
					require.WithinDuration(t, start.Add(tt.sent), attempts[1].Start, 50*time.Millisecond)
					return
				}
				require.InDelta(t, tt.ends.Seconds(), took.Seconds(), 0.3)
				text := requireMadeLater(t, err, tt.pause)
				require.Contains(t, text, "silent.example: the host has not answered")
				require.Empty(t, k.server.beats(), "it passed no fence")
				end := activities.EndingOf(err, time.Time{}, time.Time{})
				require.Equal(t, activities.Unsent, end.How)
				require.Equal(t, refused(), end.Attempts, "it is no attempt")
			})
		})
	}
}

func TestAnAttemptThatIsLostSoonWaitsForItsHostAllTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTimedRunner(0).Runner
		r.PerHost = 1
		start, free := time.Now(), sync.OnceFunc(r.OccupyHost(get("http://silent.example/")))
		defer free()
		time.AfterFunc(20*time.Second+700*time.Millisecond, free)
		k := task{heartbeat: 20*time.Second + 450*time.Millisecond}
		attempts, err := k.run(t, r, to("silent.example", 20*time.Second))
		require.NoError(t, err)
		require.WithinDuration(t, start.Add(20*time.Second+700*time.Millisecond), attempts[0].Start, 300*time.Millisecond)
		beats := k.server.beats()
		require.Len(t, beats, 2)
		require.Zero(t, beats[0].Sent, "it keeps the attempt from being lost, and is no fence")
		require.Equal(t, 1, beats[1].Sent)
	})
}

func TestRequestsToOneReceiverAreCountedTogether(t *testing.T) {
	t.Parallel()
	queue := func(account string) *job.Action {
		return &job.Action{Type: kind.StorageQueue, Content: kind.Content{QueueMessage: &kind.QueueMessage{StorageAccount: account}}}
	}
	busQueue := func(namespace string) *job.Action {
		return &job.Action{Type: kind.ServiceBusQueue, Content: kind.Content{ServiceBusQueueMessage: &kind.ServiceBusMessage{Namespace: namespace}}}
	}
	busTopic := func(namespace string) *job.Action {
		return &job.Action{Type: kind.ServiceBusTopic, Content: kind.Content{ServiceBusTopicMessage: &kind.ServiceBusMessage{Namespace: namespace}}}
	}
	for _, tt := range []struct {
		name       string
		one, other *job.Action
		together   bool
	}{
		{"a host in any case", get("http://contoso/a"), get("HTTP://CONTOSO/b"), true},
		{"the port of http", get("http://contoso"), get("http://contoso:80/"), true},
		{"the port of https", get("https://contoso"), get("https://contoso:443/"), true},
		{"an empty port", get("https://contoso:/"), get("https://contoso/"), true},
		{"an address of IPv6", get("http://[::1]/"), get("http://[::1]:80/"), true},
		{"another port", get("https://contoso"), get("https://contoso:8443/"), false},
		{"http and https", get("http://contoso"), get("https://contoso"), false},
		{"a host before a path with placeholders", get("http://target.example/{{.Job.Name}}?{{if .Due}} {{end}}"), get("http://target.example/"), true},
		{"a storage account", queue("contoso"), queue("Contoso"), true},
		{"another one", queue("contoso"), queue("fabrikam"), false},
		{"a queue and a topic of a Service Bus namespace", busQueue("contoso"), busTopic("Contoso"), true},
		{"a storage account and a namespace of that name", queue("contoso"), busQueue("contoso"), false},
		{"a storage account and a host of that name", queue("contoso"), get("http://contoso/"), false},
		{"a namespace and a host of that name", busTopic("contoso"), get("http://contoso/"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := runner(fails("refused"))
			r.PerHost = 1
			defer r.OccupyHost(tt.one)()
			require.Equal(t, tt.together, r.HostIsFull(tt.other))
		})
	}
}

// If the server makes no other attempt, the workflow decides.
func TestTheLastAttemptThatASilentHostHasNoPlaceForIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTimedRunner(0).Runner
		r.PerHost = 1
		defer r.OccupyHost(get("http://silent.example/"))()
		k := task{attempt: 4, attempts: 4, earlier: refused()}
		_, err := k.run(t, r, to("silent.example", -time.Minute))
		requireUnsent(t, err, refused())
	})
}

func TestAnAnswerMakesPlaceForAnotherRequest(t *testing.T) {
	t.Parallel()
	r := runner(fails("refused"))
	r.PerHost = 1
	for range 3 {
		_, err := new(task).run(t, r, to("target.example", -time.Minute))
		applicationError(t, err)
	}
}

// Attempts waiting for the worker's pace take no places of the host.
func TestAttemptsThatWaitForTheWorkerTakeNoPlaceOfTheHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTimedRunner(0).Runner
		r.PerHost = 1
		free, full := r.OccupyPlaces(), true
		time.AfterFunc(500*time.Millisecond, func() {
			full = r.HostIsFull(get("http://target.example/"))
			free()
		})
		_, err := new(task).run(t, r, to("target.example", 0))
		require.NoError(t, err)
		require.False(t, full)
	})
}

func TestAFirstAttemptThatWasPutOffSaysHowOftenWhereverItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTimedRunner(0).Runner
		r.PerHost = 1
		free := r.OccupyHost(get("http://silent.example/"))
		k := task{}
		_, err := k.run(t, r, to("silent.example", 0))
		requireMadeLater(t, err, 10*time.Second)
		beats := k.server.beats()
		require.Equal(t, 1, beats[len(beats)-1].PutOff)
		free()
		in := to("silent.example", -20*time.Second)
		in.PutOff = 3 // by earlier activities
		k = task{attempt: 3, details: beats[len(beats)-1].Progress}
		attempts, err := k.run(t, r, in)
		require.NoError(t, err)
		require.Equal(t, 4, attempts[0].PutOff)
	})
}
