package senders_test

import (
	"encoding/base64"
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/sas"
	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/emulators"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
)

// queueAction returns an action that puts "hello" on a queue of Azurite's account.
func queueAction(queue, token string) *job.Action {
	return &job.Action{Type: kind.StorageQueue, Content: kind.Content{QueueMessage: &kind.QueueMessage{
		StorageAccount: emulators.AzuriteAccount, QueueName: queue, SASToken: token, Message: "hello",
	}}}
}

func queueSender(t testing.TB, o senders.Options) *senders.StorageQueue {
	t.Helper()
	q, err := senders.NewStorageQueue(o)
	require.NoError(t, err)
	return q
}

// opened is a message of Azure Scheduler as a receiver decodes it.
type opened struct {
	XMLName                  xml.Name `xml:"StorageQueueMessage"`
	ExecutionTag             string
	ClientRequestID          string `xml:"ClientRequestId"`
	ExpectedExecutionTime    string
	SchedulerJobID           string `xml:"SchedulerJobId"`
	SchedulerJobCollectionID string `xml:"SchedulerJobCollectionId"`
	Region                   string
	Message                  string
}

func open(t *testing.T, message string) opened {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(message)
	require.NoError(t, err)
	decoder := xml.NewDecoder(strings.NewReader(string(text)))
	decoder.CharsetReader = func(_ string, decoded io.Reader) (io.Reader, error) { return decoded, nil }
	var o opened
	require.NoError(t, decoder.Decode(&o))
	return o
}

func TestMessagesArriveInTheQueue(t *testing.T) {
	t.Parallel()
	azurite := emulators.StartAzurite(t)
	sender := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: azurite.Endpoint() + "/"})

	t.Run("in Azure Scheduler's envelope", func(t *testing.T) {
		t.Parallel()
		queue := azurite.NewQueue(t, "envelopes")
		message, err := sender.Send(t.Context(), sendertest.Execution, queueAction("envelopes", emulators.QueueSAS(t, sas.QueueSignatureValues{QueueName: "envelopes"})))
		require.NoError(t, err)
		require.Equal(t, "StorageQueue Action - Message accepted by queue 'devstoreaccount1/envelopes'", message)
		got := emulators.Messages(t, queue)
		require.Len(t, got, 1)
		text, err := base64.StdEncoding.DecodeString(got[0])
		require.NoError(t, err)
		require.Equal(t, `<?xml version="1.0" encoding="utf-16"?>`+"\r\n"+
			`<StorageQueueMessage xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <ExecutionTag>6ba7b8109dad11d180b400c04fd430c8</ExecutionTag>
  <ClientRequestId>6ba7b810-9dad-11d1-80b4-00c04fd430c8</ClientRequestId>
  <ExpectedExecutionTime>2015-09-10T00:00:00</ExpectedExecutionTime>
  <SchedulerJobId>nightly</SchedulerJobId>
  <SchedulerJobCollectionId>reports</SchedulerJobCollectionId>
  <Region>Almanac</Region>
  <Message>hello</Message>
</StorageQueueMessage>`, string(text))
	})

	t.Run("whatever their text", func(t *testing.T) {
		t.Parallel()
		queue := azurite.NewQueue(t, "texts")
		for name, text := range map[string]string{
			"nothing":           "",
			"blanks at an end":  "  a b\t ",
			"line ends":         "\r\na\nb\rc\r\n",
			"markup":            `<Message a="1" b='2'>&amp;&#10;</Message><!-- -->`,
			"a CDATA section":   "<![CDATA[ <b> ]]> ]]>",
			"other scripts":     "Grüße, 世界, مرحبا",
			"emoji":             "👩‍👩‍👧‍👦🏳️‍🌈",
			"quotes throughout": strings.Repeat(`"`, 8192), // the longest possible, as XML
		} {
			for _, format := range []kind.MessageFormat{"", kind.MessageEnvelope, kind.MessageRaw} {
				a := queueAction("texts", emulators.QueueSAS(t, sas.QueueSignatureValues{QueueName: "texts"}))
				a.QueueMessage.Message, a.QueueMessage.MessageFormat = text, format
				_, err := sender.Send(t.Context(), sendertest.Execution, a)
				require.NoError(t, err, name)
				got := emulators.Messages(t, queue)
				require.Len(t, got, 1, name)
				if format == kind.MessageRaw {
					require.Equal(t, text, got[0], name)
				} else {
					require.Equal(t, text, open(t, got[0]).Message, name)
				}
			}
		}
	})

	t.Run("up to 64 KiB", func(t *testing.T) {
		t.Parallel()
		queue := azurite.NewQueue(t, "sizes")
		token := emulators.QueueSAS(t, sas.QueueSignatureValues{QueueName: "sizes"})
		const inEnvelope = 49152 - envelopeSize // base64 makes four bytes of three
		for _, tt := range []struct {
			name   string
			text   string
			format kind.MessageFormat
			size   string // size in the error; "" means that it fits
		}{
			{"the longest", strings.Repeat("x", 65536), kind.MessageRaw, ""},
			{"one byte more", strings.Repeat("x", 65537), kind.MessageRaw, "65537"},
			{"the longest in an envelope", strings.Repeat("x", inEnvelope), "", ""},
			{"one byte more in an envelope", strings.Repeat("x", inEnvelope+1), "", "65540"},
		} {
			a := queueAction("sizes", token)
			a.QueueMessage.Message, a.QueueMessage.MessageFormat = tt.text, tt.format
			message, err := sender.Send(t.Context(), sendertest.Execution, a)
			if tt.size == "" {
				require.NoError(t, err, tt.name)
				require.Len(t, emulators.Messages(t, queue), 1, tt.name)
				continue
			}
			require.Equal(t, "StorageQueue Action - Message to queue 'devstoreaccount1/sizes' failed: the message is "+tt.size+
				" bytes long as it is sent, and a queue holds 65536 (64 KiB): shorten it", message, tt.name)
			sendertest.RequirePermanent(t, true, err)
			require.Empty(t, emulators.Messages(t, queue), tt.name)
		}
	})

	t.Run("by names in any case", func(t *testing.T) {
		t.Parallel()
		queue := azurite.NewQueue(t, "shouted")
		a := queueAction("Shouted", emulators.QueueSAS(t, sas.QueueSignatureValues{QueueName: "shouted"}))
		a.QueueMessage.StorageAccount = "DevStoreAccount1"
		message, err := sender.Send(t.Context(), sendertest.Execution, a)
		require.NoError(t, err)
		require.Equal(t, "StorageQueue Action - Message accepted by queue 'devstoreaccount1/shouted'", message)
		require.Len(t, emulators.Messages(t, queue), 1)
	})
}

// envelopeSize is the length of an empty message's envelope, before base64.
const envelopeSize = 546

// Azurite checks signatures as Azure Storage does.
func TestSharedAccessSignatures(t *testing.T) {
	t.Parallel()
	azurite := emulators.StartAzurite(t)
	sender := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: azurite.Endpoint()})
	queue := azurite.NewQueue(t, "orders")
	azurite.NewQueue(t, "others")
	service := func(v sas.QueueSignatureValues) string {
		v.QueueName = "orders"
		return emulators.QueueSAS(t, v)
	}
	account := func(permissions sas.AccountPermissions, types sas.AccountResourceTypes) string {
		key, err := emulators.Credential()
		require.NoError(t, err)
		token, err := sas.AccountSignatureValues{
			Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().Add(time.Hour),
			Permissions: permissions.String(), ResourceTypes: types.String(),
		}.SignWithSharedKey(key)
		require.NoError(t, err)
		return token.Encode()
	}
	accountAdd := account(sas.AccountPermissions{Add: true}, sas.AccountResourceTypes{Object: true})
	expired := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	start := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	const wrong = "the service answered 403 AuthenticationFailed: the sasToken is not one for this account and queue, or its key was changed: put a new one into the job"
	const unreadable = "the sasToken is not a shared access signature, which has the form sv=…&sig=…: put one into the job"

	for _, tt := range []struct {
		name      string
		token     string
		queue     string // "" means orders
		account   string // "" means Azurite's
		want      string // "" means success
		permanent bool
	}{
		{name: "a token for the queue", token: service(sas.QueueSignatureValues{})},
		{name: "a token as the portal shows it", token: " ?" + service(sas.QueueSignatureValues{}) + "\n"},
		{name: "a token with the address before it", token: "https://devstoreaccount1.queue.core.windows.net/orders?" + service(sas.QueueSignatureValues{})},
		{name: "a token for the account", token: accountAdd},
		{name: "a token for the queue without the permission", token: service(sas.QueueSignatureValues{Permissions: "rup"}),
			want: "the service answered 403 AuthorizationPermissionMismatch: the sasToken does not permit to add messages: put one into the job that does (sp has an a)"},
		{name: "a token for the account without the permission", token: account(sas.AccountPermissions{Read: true}, sas.AccountResourceTypes{Object: true}),
			want: "the service answered 403 AuthorizationPermissionMismatch: the sasToken does not permit to add messages: put one into the job that does (sp has an a)"},
		{name: "a token for the account's queues but not their messages", token: account(sas.AccountPermissions{Add: true}, sas.AccountResourceTypes{Service: true}),
			want: "the service answered 403 AuthorizationResourceTypeMismatch: the sasToken is not for the messages of queues: put one into the job for the service Queue (ss has a q) and the resource type Object (srt has an o)"},
		{name: "a token that has expired", token: service(sas.QueueSignatureValues{ExpiryTime: expired}),
			want: "the service answered 403 AuthenticationFailed: the sasToken expired at 2020-01-02T03:04:05Z: put a new one into the job"},
		{name: "a token that is not valid yet", token: service(sas.QueueSignatureValues{StartTime: start, ExpiryTime: start.Add(time.Hour)}),
			want: "the service answered 403 AuthenticationFailed: the sasToken is not valid before " + start.Format(time.RFC3339)},
		{name: "a token for another queue", token: service(sas.QueueSignatureValues{}), queue: "others", want: wrong},
		{name: "a token by another key", token: strings.Replace(service(sas.QueueSignatureValues{}), "sig=", "sig=A", 1), want: wrong},
		{name: "a token for https alone", token: service(sas.QueueSignatureValues{Protocol: sas.ProtocolHTTPS}),
			want: "the service answered 403 AuthorizationProtocolMismatch: the sasToken is not for this protocol: https has to be allowed (spr)"},
		{name: "text that is no token", token: "topsecret", want: unreadable, permanent: true},
		{name: "text that is no query", token: "sig=%topsecret", want: unreadable, permanent: true},
		{name: "no token", token: "", want: unreadable, permanent: true},
		{name: "a queue that is missing", token: accountAdd, queue: "nowhere",
			want: "the service answered 404 QueueNotFound: the storage account has no queue of this name: create it"},
		{name: "an account that is missing", token: accountAdd, account: "nobody",
			want: "the service answered 404 ResourceNotFound: there is no storage account of this name"},
		{name: "a name that no queue can have", token: accountAdd, queue: "a--b", permanent: true,
			want: "the service answered 400 InvalidResourceName: this is no name of a queue: 3 to 63 letters, digits and single hyphens, none of them first or last"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := queueAction("orders", tt.token)
			if tt.queue != "" {
				a.QueueMessage.QueueName = tt.queue
			}
			if tt.account != "" {
				a.QueueMessage.StorageAccount = tt.account
			}
			message, err := sender.Send(t.Context(), sendertest.Execution, a)
			if tt.want == "" {
				require.NoError(t, err)
				require.Len(t, emulators.Messages(t, queue), 1)
				return
			}
			require.EqualError(t, err, tt.want)
			require.Equal(t, "StorageQueue Action - Message to queue '"+a.QueueMessage.StorageAccount+"/"+a.QueueMessage.QueueName+"' failed: "+tt.want, message)
			sendertest.RequirePermanent(t, tt.permanent, err)
			require.Empty(t, emulators.Messages(t, queue))
		})
	}
}

func TestPlaceholdersAreFilledInInTheQueue(t *testing.T) {
	t.Parallel()
	azurite := emulators.StartAzurite(t)
	queue := azurite.NewQueue(t, "orders")
	a := queueAction("orders", emulators.QueueSAS(t, sas.QueueSignatureValues{QueueName: "orders"}))
	a.QueueMessage.Message, a.QueueMessage.Template = `{"job":"{{.Job.Name}}","error":"{{.Failure.Error}}"}`, true
	sender := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: azurite.Endpoint()})
	for _, format := range []kind.MessageFormat{kind.MessageRaw, kind.MessageEnvelope} {
		a.QueueMessage.MessageFormat = format
		_, err := sender.Send(t.Context(), sendertest.Execution, sendertest.FilledIn(t, a))
		require.NoError(t, err)
	}
	const want = `{"job":"nightly","error":"\"it\" <failed> & ended"}`
	got := emulators.Messages(t, queue)
	require.Len(t, got, 2)
	require.Equal(t, want, got[0])
	require.Equal(t, want, open(t, got[1]).Message)
}

func TestTheExampleArrivesInTheQueue(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../../examples/storage-queue.json")
	require.NoError(t, err)
	definition, err := input.ParseDefinition(body, input.ParseOptions{Now: time.Now()})
	require.NoError(t, err)
	azurite := emulators.StartAzurite(t)
	queue := azurite.NewQueue(t, "orders")
	_, err = queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: azurite.Endpoint()}).Send(t.Context(), sendertest.Execution, &definition.Action)
	require.NoError(t, err)
	require.Equal(t, definition.Action.QueueMessage.Message, open(t, emulators.Messages(t, queue)[0]).Message)
}

// The addresses are those of Azure's public cloud; only the connection leads elsewhere.
func TestQueuesOfThePublicCloud(t *testing.T) {
	t.Parallel()
	azurite := emulators.StartSecureAzurite(t)
	queue := azurite.NewQueue(t, "orders")
	a := queueAction("orders", emulators.QueueSAS(t, sas.QueueSignatureValues{QueueName: "orders", Protocol: sas.ProtocolHTTPS}))

	trusting := queueSender(t, senders.Options{Dial: azurite.Dial, RootCAs: azurite.RootCAs})
	_, err := trusting.Send(t.Context(), sendertest.Execution, a)
	require.NoError(t, err)
	require.Equal(t, "hello", open(t, emulators.Messages(t, queue)[0]).Message)

	careful := queueSender(t, senders.Options{Dial: azurite.Dial})
	message, err := careful.Send(t.Context(), sendertest.Execution, a)
	require.EqualError(t, err, "TLS: the certificate is signed by an authority that is not trusted here")
	require.Equal(t, "StorageQueue Action - Message to queue 'devstoreaccount1/orders' failed: "+err.Error(), message)
	sendertest.RequirePermanent(t, false, err)
	require.Empty(t, emulators.Messages(t, queue))
}

func TestQueueServiceThatRestarts(t *testing.T) {
	t.Parallel()
	azurite := emulators.StartAzurite(t)
	sender := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: azurite.Endpoint()})
	a := queueAction("orders", emulators.QueueSAS(t, sas.QueueSignatureValues{QueueName: "orders"}))
	azurite.NewQueue(t, "orders")
	_, err := sender.Send(t.Context(), sendertest.Execution, a)
	require.NoError(t, err)

	require.NoError(t, azurite.Stop())
	_, err = sender.Send(t.Context(), sendertest.Execution, a)
	require.Error(t, err)
	// Depending on when its end was noticed, the kept connection or a new one fails.
	require.Contains(t, []string{
		"the connection was refused: nothing listens at this port",
		"the host reset the connection; it may have read the request",
		"the host closed the connection before its answer was complete; it may have read the request",
	}, err.Error())
	sendertest.RequirePermanent(t, false, err)

	azurite.Restart(t)
	queue := azurite.NewQueue(t, "orders")
	_, err = sender.Send(t.Context(), sendertest.Execution, a)
	require.NoError(t, err)
	require.Len(t, emulators.Messages(t, queue), 1)
}
