package job

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Beginnings of the parts of a message about a response.
const (
	responseHost    = "Http Action - Response from host '"
	responseHeaders = "' Response Headers: "
	responseBody    = " Body: "
)

// ResponseMessage describes the response to a web request in Azure Scheduler's format, which its clients parse: the
// host that was asked, the name of the status, and what the host sent.
func ResponseMessage(host, status, headers, body string) string {
	return responseHost + host + "': '" + status + responseHeaders + headers + responseBody + body
}

// AnsweredReason says in one sentence, and in one line, why a web request failed that was answered: the status and, if
// there is a body, its beginning. The headers are left out, since they come before the body and say less.
func AnsweredReason(status int, body string) string {
	reason := fmt.Sprintf("%d %s", status, statusName(status))
	if body = strings.Join(strings.Fields(body), " "); body != "" {
		reason += ": " + body
	}
	return reason
}

func statusName(status int) string {
	return cmp.Or(http.StatusText(status), "(a status without a name)")
}

// hiddenResponse stands for what a host sent, where it is hidden.
const hiddenResponse = "hidden"

// quotes say where messages have words of a receiver: after the end of what one of them matches.
var quotes = []*regexp.Regexp{
	regexp.MustCompile(regexp.QuoteMeta(responseHost) + `[^']*': '[^']*` + regexp.QuoteMeta(responseHeaders)),
	regexp.MustCompile(`Http Action - Request to host '[^']*' failed: .*? \(redirected: `),
	regexp.MustCompile(`Message to (?:queue|topic) '.*?' of namespace '.*?' failed: .*? \(`),
	regexp.MustCompile(`, which is not followed: it leads to `),
	regexp.MustCompile(`the mail server \S+: `),
	regexp.MustCompile(`mail accepted by \S+ for .*?; of the others: `),
}

// WithoutResponse returns a text without the words of a receiver that a message or [AnsweredReason] in it quotes, and
// all after them: headers and body of a response, where a redirect leads to, or what a mail server or Service Bus said. It says that they are
// hidden. The text may begin with more than the message.
func WithoutResponse(text string) string {
	cut, reason := -1, answeredReason(text)
	for _, quote := range quotes {
		if found := quote.FindStringIndex(text); found != nil && (cut < 0 || found[1] < cut) {
			cut = found[1]
		}
	}
	switch {
	case reason >= 0 && (cut < 0 || reason < cut):
		return text[:reason] + hiddenResponse + " (a contributor may see it)"
	case cut < 0:
		return text
	}
	shown := text[:cut] + hiddenResponse
	if strings.HasSuffix(text[:cut], responseHeaders) {
		shown += responseBody + hiddenResponse
	}
	return shown + " (a contributor may see them)"
}

// answered matches what may be the status of an [AnsweredReason] with a body.
var answered = regexp.MustCompile(`\b([0-9]{3}) ([A-Z(][A-Za-z'() -]*): `)

// answeredReason returns where the body begins in the first [AnsweredReason] of a text; -1 if there is none.
func answeredReason(text string) int {
	for _, at := range answered.FindAllStringSubmatchIndex(text, -1) {
		if status, err := strconv.Atoi(text[at[2]:at[3]]); err == nil && text[at[4]:at[5]] == statusName(status) {
			return at[1]
		}
	}
	return -1
}
