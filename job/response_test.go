package job

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatAHostSentIsTakenOutOfAText(t *testing.T) {
	t.Parallel()
	const hidden = "Http Action - Response from host 'a.example:8080': 'OK' Response Headers: hidden Body: hidden (a contributor may see them)"
	message := ResponseMessage("a.example:8080", "OK", "X-Key: k1\r\n", "the secret of the host")
	require.Equal(t, "Http Action - Response from host 'a.example:8080': 'OK' Response Headers: X-Key: k1\r\n Body: the secret of the host", message)
	for text, want := range map[string]string{
		message: hidden,
		message + " (the host answered 302 Found, which is not followed: it leads to host 'b.example')": hidden,
		message[:100]: hidden,
		"The job was disabled. The last error: " + message:                                                               "The job was disabled. The last error: " + hidden,
		ResponseMessage("a.example:8080", "OK", "", ""):                                                                  hidden,
		ResponseMessage("a.example:8080", "OK", "X: "+responseHost+"b", responseHost+"c"+responseHeaders+"more secrets"): hidden,
		"Http Action - Request to host 'a.example' failed: connection refused":                                           "Http Action - Request to host 'a.example' failed: connection refused",
		"StorageQueue Action - Message to queue 'a' failed: the service answered 403":                                    "StorageQueue Action - Message to queue 'a' failed: the service answered 403",
		"Http Action - Response from host 'a.example":                                                                    "Http Action - Response from host 'a.example",
		"": "",

		"Http Action - Request to host 'a.example' failed: the host reset the connection (redirected: GET http://a/ was answered 302 Found; then GET http://a/secret)": "Http Action - Request to host 'a.example' failed: the host reset the connection (redirected: hidden (a contributor may see them)",
		"ServiceBusQueue Action - Message to queue 'q' of namespace 'n' failed: there is no such queue in the namespace (amqp:not-found The secret (of the host))":     "ServiceBusQueue Action - Message to queue 'q' of namespace 'n' failed: there is no such queue in the namespace (hidden (a contributor may see them)",
		"Message to topic 't' of namespace 'n' failed: the service refused the message (amqp:not-allowed The secret)":                                                  "Message to topic 't' of namespace 'n' failed: the service refused the message (hidden (a contributor may see them)",
		"StorageQueue Action - Message to queue 'a' failed: the service answered 404 QueueNotFound: the storage account has no queue of this name: create it":          "StorageQueue Action - Message to queue 'a' failed: the service answered 404 QueueNotFound: the storage account has no queue of this name: create it",
		"the mail server mail.example:587: 550 5.1.1 the secret":                             "the mail server mail.example:587: hidden (a contributor may see them)",
		"mail accepted by mail.example:587 for 1 of 2 addresses; of the others: the secret":  "mail accepted by mail.example:587 for 1 of 2 addresses; of the others: hidden (a contributor may see them)",
		`500 Internal Server Error: {"error":"secret"}`:                                      "500 Internal Server Error: hidden (a contributor may see it)",
		"Job 'a' failed twice in a row: 418 I'm a teapot: secret " + message:                 "Job 'a' failed twice in a row: 418 I'm a teapot: hidden (a contributor may see it)",
		"The last error: " + AnsweredReason(599, "secret: 404 Not Found: secret"):            "The last error: 599 (a status without a name): hidden (a contributor may see it)",
		"302 Found, which is not followed: it leads to host 'b.example', from http to https": "302 Found, which is not followed: it leads to hidden (a contributor may see them)",
		"302 Found, which is not followed: at most 10 redirects are":                         "302 Found, which is not followed: at most 10 redirects are",
		"Request to host 'a.example:8080' failed: the connection was refused: nobody":        "Request to host 'a.example:8080' failed: the connection was refused: nobody",
		message + " 404 Not Found: secret":                                                   hidden,
	} {
		require.Equal(t, want, WithoutResponse(text))
	}
	require.Equal(t, WithoutResponse(message), WithoutResponse(strings.ReplaceAll(message, "secret", "")))
}

func TestTheBodyOfEachStatusIsTakenOutOfItsReason(t *testing.T) {
	t.Parallel()
	for status := 100; status < 1000; status++ {
		reason := AnsweredReason(status, " {\n  \"error\": \"topsecret\"\n}\n")
		require.True(t, strings.HasSuffix(reason, `: { "error": "topsecret" }`), reason)
		require.Equal(t, AnsweredReason(status, "hidden (a contributor may see it)"), WithoutResponse(reason))
		require.NotContains(t, AnsweredReason(status, " \n"), ":")
	}
}
