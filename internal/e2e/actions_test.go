package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/sas"
	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/api"
	"almanac/internal/emulators"
	"almanac/job/kind"
)

// A counterpart is one kind of action against its real counterpart.
type counterpart struct {
	name    string
	works   string                                        // the JSON of an action that succeeds
	fails   string                                        // and of one that does not
	why     string                                        // in the history of the latter
	arrived func(t *testing.T, times int, message string) // requires that so many messages came
}

// Every kind of action runs as the main action, and as the error action of
// every kind.
func TestActionsOfAllKindsRunInAnyMix(t *testing.T) {
	t.Parallel()
	azurite := emulators.StartAzurite(t)
	bus := emulators.StartServiceBus(t, emulators.ServiceBusOptions{
		Queues: []emulators.ServiceBusQueue{{Name: "orders"}},
		Topics: []emulators.ServiceBusTopic{{Name: "news", Subscriptions: []string{"all"}}},
	})
	s := newStack(t, setup{data: t.TempDir(), outbound: senders.Options{
		RootCAs: bus.RootCAs, QueueEndpoint: azurite.Endpoint(), BusEndpoint: bus.Address,
	}})
	jobs := s.collection(t) + "/jobs"
	kinds := []counterpart{httpKind(t), queueKind(t, azurite), busKind(bus, "queue"), busKind(bus, "topic")}
	for _, main := range kinds {
		for _, compensation := range kinds {
			name := main.name + "-" + compensation.name
			t.Run(name, func(t *testing.T) {
				text := "from " + name
				action := func(format string) string { return strings.ReplaceAll(format, "MESSAGE", text) }
				created(t, jobs+"/works-"+name, fmt.Sprintf(`{"properties":{"action":{%s,"errorAction":{%s}}}}`,
					action(main.works), action(compensation.fails)))
				created(t, jobs+"/fails-"+name, fmt.Sprintf(`{"properties":{"action":{%s,"retryPolicy":{"retryType":"none"},"errorAction":{%s}}}}`,
					action(main.fails), action(compensation.works)))
				status(t, jobs+"/works-"+name, "properties.state", "completed")
				status(t, jobs+"/fails-"+name, "properties.state", "faulted")
				history := call(t, http.MethodGet, jobs+"/fails-"+name+"/history", "")
				require.Equal(t, 2, history.count("value"), history.body)
				require.Contains(t, history.get("value.1.properties.message"), main.why)
				require.Equal(t, "ErrorAction", history.get("value.0.properties.actionName"))
				require.Equal(t, "Completed", history.get("value.0.properties.status"))
				if main.name == compensation.name {
					main.arrived(t, 2, text)
					return
				}
				main.arrived(t, 1, text)
				compensation.arrived(t, 1, text)
			})
		}
	}
}

func httpKind(t *testing.T) counterpart {
	bodies := make(chan string, 100)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fail" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		user, password, _ := r.BasicAuth()
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		bodies <- user + " " + password + " " + string(body)
	}))
	t.Cleanup(target.Close)
	request := `"type":"Http","request":{"method":"POST","uri":"` + target.URL + `%s","body":"MESSAGE",` +
		`"authentication":{"type":"Basic","username":"me","password":"secret"}}`
	return counterpart{
		name: "http", works: fmt.Sprintf(request, "/"), fails: fmt.Sprintf(request, "/fail"), why: "'418'",
		arrived: func(t *testing.T, times int, message string) {
			t.Helper()
			for range times {
				select {
				case got := <-bodies:
					require.Equal(t, "me secret "+message, got)
				case <-time.After(10 * time.Second):
					t.Fatal("nothing arrived")
				}
			}
		},
	}
}

func queueKind(t *testing.T, azurite *emulators.Azurite) counterpart {
	queue := azurite.NewQueue(t, "orders")
	token := emulators.QueueSAS(t, sas.QueueSignatureValues{QueueName: "orders", Permissions: (&sas.QueuePermissions{Add: true}).String()})
	message := `"type":"StorageQueue","queueMessage":{"storageAccount":"` + emulators.AzuriteAccount + `","queueName":"QUEUE","sasToken":"` + token +
		`","message":"MESSAGE","messageFormat":"raw"}`
	return counterpart{
		name: "storage-queue", works: strings.ReplaceAll(message, "QUEUE", "orders"), fails: strings.ReplaceAll(message, "QUEUE", "others"), why: "403 AuthenticationFailed",
		arrived: func(t *testing.T, times int, message string) {
			t.Helper()
			require.Equal(t, repeated(message, times), taken(t, queue, times))
		},
	}
}

func taken(t *testing.T, queue *azqueue.QueueClient, n int) []string {
	t.Helper()
	var all []string
	eventually(t, "message on the queue", func() bool {
		texts, err := emulators.Take(t.Context(), queue)
		require.NoError(t, err)
		all = append(all, texts...)
		return len(all) >= n
	})
	return all
}

func busKind(bus *emulators.ServiceBus, what string) counterpart {
	types := map[string][3]string{
		"queue": {"ServiceBusQueue", "serviceBusQueueMessage", `"queueName":"orders"`},
		"topic": {"ServiceBusTopic", "serviceBusTopicMessage", `"topicPath":"news"`},
	}[what]
	message := fmt.Sprintf(`"type":"%s","%s":{%s,"namespace":"%s","message":"MESSAGE","authentication":{"type":"sharedAccessKey","sasKeyName":"%s","sasKey":"%%s"}}`,
		types[0], types[1], types[2], emulators.ServiceBusNamespace, emulators.ServiceBusKeyName)
	from := map[string][]string{"queue": {"orders"}, "topic": {"news", "all"}}[what]
	return counterpart{
		name: "service-bus-" + what, works: fmt.Sprintf(message, emulators.ServiceBusKey), fails: fmt.Sprintf(message, "wrong"), why: "is not accepted",
		arrived: func(t *testing.T, times int, message string) {
			t.Helper()
			var texts []string
			for _, m := range bus.Receive(t, times, from[0], from[1:]...) {
				texts = append(texts, string(m.Body))
			}
			require.Equal(t, repeated(message, times), texts)
		},
	}
}

func repeated(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestAJobThatCanNeverBeSentIsRefusedWhenItIsWritten(t *testing.T) {
	t.Parallel()
	jobs := use(t).collection(t) + "/jobs"
	good := `"type":"Http","request":{"method":"GET","uri":"http://127.0.0.1:1/"}`
	bad := `"type":"Http","request":{"method":"GET","uri":"http://` + refusedHost + `/"}`
	for target, properties := range map[string]string{
		"properties.action":             `"state":"disabled","action":{` + bad + `}`,
		"properties.action.errorAction": `"state":"disabled","action":{` + good + `,"errorAction":{` + bad + `}}`,
	} {
		refused := call(t, http.MethodPut, jobs+"/new", `{"properties":{`+properties+`}}`)
		require.Equal(t, http.StatusBadRequest, refused.code, refused.body)
		require.Equal(t, target, refused.get("error.details.0.target"))
		require.Contains(t, refused.get("error.details.0.message"), "the egress deny list has "+refusedHost)
		require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, jobs+"/new", "").code)

		created(t, jobs+"/old", `{"properties":{"state":"disabled","action":{`+good+`}}}`)
		for _, method := range []string{http.MethodPut, http.MethodPatch} {
			refused = call(t, method, jobs+"/old", `{"properties":{`+properties+`}}`)
			require.Equal(t, http.StatusBadRequest, refused.code, refused.body)
		}
		ok(t, http.MethodDelete, jobs+"/old", "")
	}
}

// The egress rules may change after a job was written.
func TestAJobThatIsRefusedByNowCanStillBeDisabled(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/a", `{"properties":{"startTime":"`+
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`","action":{"type":"Http","request":{"method":"GET","uri":"http://127.0.0.1:1/"}}}}`)
	later := httptest.NewServer(api.New(s.service, api.Options{CheckTarget: func(kind.Type, kind.Parameters) error { return errors.New("refused by now") }}))
	defer later.Close()
	a := strings.Replace(jobs, s.url, later.URL, 1) + "/a"
	ok(t, http.MethodPatch, a, `{"properties":{"state":"disabled"}}`)
	refused := call(t, http.MethodPatch, a, `{"properties":{"action":{"request":{"method":"HEAD"}}}}`)
	require.Equal(t, http.StatusBadRequest, refused.code, refused.body)
	require.Contains(t, refused.body, "refused by now")
}
