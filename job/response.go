package job

import (
	"regexp"
	"strings"
)

// Beginnings of the parts of a message about a response.
const (
	responseHost    = "Http Action - Response from host '"
	responseHeaders = "' Response Headers: "
	responseBody    = " Body: "
)

// ResponseMessage describes the response to a web request in Azure Scheduler's format, which its clients parse: the host that was
// asked, the name of the status, and what the host sent.
func ResponseMessage(host, status, headers, body string) string {
	return responseHost + host + "': '" + status + responseHeaders + headers + responseBody + body
}

// hiddenResponse stands for what a host sent, where it is hidden.
const hiddenResponse = "hidden"

// quotes say where messages have words of a receiver: after the end of what one of them matches.
var quotes = []*regexp.Regexp{
	regexp.MustCompile(regexp.QuoteMeta(responseHost) + `[^']*': '[^']*` + regexp.QuoteMeta(responseHeaders)),
	regexp.MustCompile(`Http Action - Request to host '[^']*' failed: .*? \(redirected: `),
	regexp.MustCompile(`ServiceBus(?:Queue|Topic) Action - Message to .*? failed: .*? \(`),
	regexp.MustCompile(`the mail server \S+: `),
	regexp.MustCompile(`mail accepted by \S+ for .*?; of the others: `),
	regexp.MustCompile(`(?:^|[^-A-Za-z0-9.])[1-5][0-9]{2}(?: [A-Z][A-Za-z'-]*)+: `), // a status before the beginning of a body
}

// queueAnswered is followed by a status and a code of Azure Storage, and by advice.
const queueAnswered = "the service answered"

// WithoutResponse returns a text without the words of a receiver that a message in it quotes, and all after them: headers and body of a
// response, or what a mail server or Service Bus said. It says that they are hidden. The text may begin with more than the message.
func WithoutResponse(text string) string {
	cut := -1
	for _, quote := range quotes {
		found := quote.FindStringIndex(text)
		if found == nil || strings.HasSuffix(text[:found[0]], queueAnswered) {
			continue
		}
		if cut < 0 || found[1] < cut {
			cut = found[1]
		}
	}
	if cut < 0 {
		return text
	}
	shown := text[:cut] + hiddenResponse
	if strings.HasSuffix(text[:cut], responseHeaders) {
		shown += responseBody + hiddenResponse
	}
	return shown + " (a contributor may see them)"
}
